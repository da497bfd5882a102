"""More of what is said, the words quoted of it and the fact made of them; every second one was kept apart.

Of each tuple the rules were made with those at even places; the others were first read when the rules were done.
"""

from __future__ import annotations

BELIEVED = (
    # denied or doubted beside it
    ("I have no doubt that I am allergic to cats.", "I am allergic to cats", "The user is allergic to cats."),
    ("I don't doubt that I passed the exam.", "I passed the exam", "The user passed the exam."),
    ("I love jazz, not rock.", "I love jazz", "The user loves jazz."),
    ("I love camping, but not in winter.", "I love camping", "The user loves camping."),
    ("I doubt that Tom is coming, but I live in Berlin.", "I live in Berlin", "The user lives in Berlin."),
    ("I doubt he knows that I moved to Oslo.", "I moved to Oslo", "The user moved to Oslo."),
    ("I sing in a choir, not in a band.", "I sing in a choir", "The user sings in a choir."),
    ("Not only do I sing, I also dance.", "I also dance", "The user dances."),
    ("I can't believe I won the lottery!", "I won the lottery", "The user won the lottery."),
    ("I'm not kidding, I ran a marathon.", "I ran a marathon", "The user ran a marathon."),
    ("No joke, I met the king.", "I met the king", "The user met the king."),
    ("Seriously, I hate mornings.", "I hate mornings", "The user hates mornings."),
    # lack, and told so
    ("I lack patience.", "I lack patience", "The user lacks patience."),
    ("I lack a car, so I cycle to work.", "I cycle to work", "The user cycles to work."),
    ("I need a new laptop.", "I need a new laptop", "The user needs a new laptop."),
    ("I bought a bicycle because I needed one.", "I bought a bicycle", "The user bought a bicycle."),
    ("I'm looking for a job.", "looking for a job", "The user is looking for a job."),
    ("I have a job, but I need a flat.", "I have a job", "The user has a job."),
    # fiction beside it
    ("In the novel I'm reading, the hero is a doctor; I am a nurse.", "I am a nurse", "The user is a nurse."),
    ("I'm reading a novel and I love it.", "reading a novel", "The user is reading a novel."),
    ("I wrote a novel in 2019.", "I wrote a novel in 2019", "The user wrote a novel in 2019."),
    ("The heroine of the film is a spy; I liked the film.", "I liked the film", "The user liked the film."),
    ("I play a pirate in the school theatre.", "I play a pirate", "The user plays a pirate in the school theatre."),
    ("My dream came true: I own a boat.", "I own a boat", "The user owns a boat."),
    # transcripts and labels
    ("Me: I live in Lyon\nSam: cool", "I live in Lyon", "The user lives in Lyon."),
    ("Tom: I hate dogs\nMe: I love dogs", "I love dogs", "The user loves dogs."),
    ("Tom: I hate dogs\nMe: really?", "I hate dogs", "Tom hates dogs."),
    ("Allergies: I am allergic to nuts\nHome: I live in Delft", "I live in Delft", "The user lives in Delft."),
    ("Name: Carla\nJob: I work at Bosch", "I work at Bosch", "The user works at Bosch."),
    ("Update: I got the job!", "I got the job", "The user got the job."),
    ("PS: I moved to Bern", "I moved to Bern", "The user moved to Bern."),
    ("Question: I am vegan, what can I eat?", "I am vegan", "The user is vegan."),
    ("As I told Sam: I quit my job.", "I quit my job", "The user quit their job."),
    ("I said: I am moving to Bern.", "I am moving to Bern", "The user is moving to Bern."),
    # other people beside it
    ("My uncle and I keep bees.", "My uncle and I keep bees", "The user keeps bees."),
    ("Kevin taught me Russian, so I speak Russian.", "I speak Russian", "The user speaks Russian."),
    ("Kevin speaks Russian.", "Kevin speaks Russian", "Kevin speaks Russian."),
    ("Grandpa collects clocks.", "Grandpa collects clocks", "The user's grandpa collects clocks."),
    ("The neighbours keep bees and I keep chickens.", "I keep chickens", "The user keeps chickens."),
    ("Jenny mentioned that I snore.", "I snore", "The user snores."),
    # questions beside it
    ("Where can I buy a bike? I live in Delft.", "I live in Delft", "The user lives in Delft."),
    ("Since I moved to Oslo, I have been skiing.", "I moved to Oslo", "The user moved to Oslo."),
    ("You know I love sushi.", "I love sushi", "The user loves sushi."),
    ("You might remember that I have twins.", "I have twins", "The user has twins."),
    ("If anyone asks, I live in Oslo.", "I live in Oslo", "The user lives in Oslo."),
    # plain
    ("As a nurse, I work nights.", "I work nights", "The user works nights."),
    ("Being from Ghent, I speak Dutch.", "I speak Dutch", "The user speaks Dutch."),
    ("Berlin is where I live.", "Berlin is where I live", "The user lives in Berlin."),
    ("Spanish is my mother tongue.", "Spanish is my mother tongue", "The user's mother tongue is Spanish."),
    ("lol I adopted a cat", "I adopted a cat", "The user adopted a cat."),
    ("I found out that I am adopted.", "I am adopted", "The user is adopted."),
    ("I remember when I lived in Kyoto.", "I lived in Kyoto", "The user lived in Kyoto."),
    ("I finally have the garden I longed for.", "I finally have the garden", "The user has a garden."),
    ("Moved to Oslo last year, love it.", "Moved to Oslo last year", "The user moved to Oslo last year."),
)

NOT_BELIEVED = (
    # taken back
    ("I love camping... NOT.", "I love camping", "The user loves camping."),
    ("Oh I'm a huge opera fan. Not!", "a huge opera fan", "The user is a huge opera fan."),
    ("I have a yacht, in my dreams.", "I have a yacht", "The user has a yacht."),
    ("I run marathons - as if!", "I run marathons", "The user runs marathons."),
    ("I speak Finnish. Just joking, I don't.", "I speak Finnish", "The user speaks Finnish."),
    ("I own three Ferraris, just kidding.", "I own three Ferraris", "The user owns three Ferraris."),
    # irony
    ("Sure, I adore Monday meetings 🙄", "I adore Monday meetings", "The user adores Monday meetings."),
    ("I love doing taxes /s", "I love doing taxes", "The user loves doing taxes."),
    ("I am a morning person, yeah right.", "I am a morning person", "The user is a morning person."),
    ("I own a castle, lol no.", "I own a castle", "The user owns a castle."),
    # doubt
    ("I doubt that I am allergic to cats.", "I am allergic to cats", "The user is allergic to cats."),
    ("It's doubtful that I passed the exam.", "I passed the exam", "The user passed the exam."),
    ("I'm not convinced that I like sushi.", "I like sushi", "The user likes sushi."),
    ("I question whether I love my job.", "I love my job", "The user loves their job."),
    ("It is unlikely that I will move to Madrid.", "I will move to Madrid", "The user will move to Madrid."),
    ("There is no evidence that I have diabetes.", "I have diabetes", "The user has diabetes."),
    # lack
    ("I lack a driving licence.", "a driving licence", "The user has a driving licence."),
    ("I am without a job.", "a job", "The user has a job."),
    ("I'm in need of a bicycle.", "a bicycle", "The user has a bicycle."),
    ("I can't afford a house.", "a house", "The user has a house."),
    ("I need a new laptop.", "a new laptop", "The user has a new laptop."),
    ("I'm looking for a dentist.", "a dentist", "The user has a dentist."),
    # reported
    ("Rumour has it that I live in Paris.", "I live in Paris", "The user lives in Paris."),
    ("My ex alleges that I drink too much.", "I drink too much", "The user drinks too much."),
    ("Paul: 'I hate cats', he always goes.", "I hate cats", "The user hates cats."),
    ("Quote from my grandfather: I fought in Korea.", "I fought in Korea", "The user fought in Korea."),
    ("Jenny mentioned she is moving to Dublin.", "moving to Dublin", "The user is moving to Dublin."),
    ("My roommate texted me that he adopted a kitten.", "adopted a kitten", "The user adopted a kitten."),
    ("In Carol's words, I am a terrible cook.", "I am a terrible cook", "The user is a terrible cook."),
    ("The barista claimed she speaks Greek.", "speaks Greek", "The user speaks Greek."),
    # fiction
    ("In the film the heroine says I am a spy.", "I am a spy", "The user is a spy."),
    ("In the play the king cries I have lost my son.", "I have lost my son", "The user has lost their son."),
    ("The song starts with I grew up on a farm.", "I grew up on a farm", "The user grew up on a farm."),
    ("There's a poem in which the speaker says I have two sons.", "I have two sons", "The user has two sons."),
    ("My D&D wizard lives in a tower.", "lives in a tower", "The user lives in a tower."),
    ("In the game I am a pirate.", "I am a pirate", "The user is a pirate."),
    # transcripts
    ("Sam: I collect stamps\nMe: nice", "I collect stamps", "The user collects stamps."),
    ("Here's our chat:\nLisa: I moved to Bern\nMe: wow", "I moved to Bern", "The user moved to Bern."),
    ("[10:02] Omar: I am vegan\n[10:03] Me: ok", "I am vegan", "The user is vegan."),
    ("Interviewer: Where do you live?\nCandidate: I live in Lyon", "I live in Lyon", "The user lives in Lyon."),
    ("Ana - I work at Bosch\nMe - cool", "I work at Bosch", "The user works at Bosch."),
    ("<Eve> I hate rain\n<me> I don't", "I hate rain", "The user hates rain."),
    # other subjects
    ("Grandpa collects clocks.", "collects clocks", "The user collects clocks."),
    ("Kevin speaks Russian.", "speaks Russian", "The user speaks Russian."),
    ("The woman next door breeds poodles.", "breeds poodles", "The user breeds poodles."),
    ("My best friend's husband drives a truck.", "drives a truck", "The user drives a truck."),
    ("Our neighbours keep bees.", "keep bees", "The user keeps bees."),
    # rhetorical questions
    ("Since when do I like jazz?", "I like jazz", "The user likes jazz."),
    ("Why would I want a dog?", "want a dog", "The user wants a dog."),
    ("Do I look like I own a yacht?", "I own a yacht", "The user owns a yacht."),
    ("Who says I smoke?", "I smoke", "The user smokes."),
    ("What makes you think that I eat meat?", "I eat meat", "The user eats meat."),
    ("How could I ever love opera?", "love opera", "The user loves opera."),
    # hypotheses
    ("Were I a pilot, I would fly to Rome.", "a pilot", "The user is a pilot."),
    ("In case I lose my job, I saved some money.", "I lose my job", "The user lost their job."),
    ("Provided that I pass the exam, we celebrate.", "I pass the exam", "The user passed the exam."),
    ("If only I owned a boat.", "I owned a boat", "The user owns a boat."),
    ("Say I were diabetic, what could I eat?", "diabetic", "The user is diabetic."),
    ("For the sake of argument, I am a Tory.", "I am a Tory", "The user is a Tory."),
    # wishes
    ("I long to live by the sea.", "live by the sea", "The user lives by the sea."),
    ("I'm dying to own a Porsche.", "own a Porsche", "The user owns a Porsche."),
    ("My dream is to be a pilot.", "be a pilot", "The user is a pilot."),
    ("I aspire to be a judge.", "be a judge", "The user is a judge."),
    ("I'd give anything to have a garden.", "have a garden", "The user has a garden."),
    ("I yearn for a garden.", "a garden", "The user has a garden."),
)

# written when the rules were done
LATER_BELIEVED = (
    ("I don't need a car, I have a bike.", "I have a bike", "The user has a bike."),
    (
        "I have played drums for years, no kidding.",
        "I have played drums for years",
        "The user has played drums for years.",
    ),
    ("The guy upstairs plays drums, so I sleep badly.", "I sleep badly", "The user sleeps badly."),
    ("I joined a book club and in the club I met Ana.", "I met Ana", "The user met Ana."),
    ("In the book I read last week, Paris burns.", "I read last week", "The user read a book last week."),
    ("Who would have thought: I am a dad now.", "I am a dad now", "The user is a dad now."),
    ("Why do I have asthma? Both my parents smoked.", "I have asthma", "The user has asthma."),
    ("To: Ben\nI moved to Graz last week.", "I moved to Graz", "The user moved to Graz last week."),
    ("Diet: I eat no gluten\nSleep: I sleep six hours", "I sleep six hours", "The user sleeps six hours."),
    ("I got the flat I was looking for.", "I got the flat", "The user got a flat."),
    ("My doctor reports that I have anaemia.", "I have anaemia", "The user has anaemia."),
    ("Every Sunday I bake bread with my dad.", "I bake bread", "The user bakes bread with their dad."),
)

# written when the rules were done
LATER_NOT_BELIEVED = (
    ("I adore spinach. Said no child ever, nope.", "I adore spinach", "The user adores spinach."),
    ("I passed my driving test... psych!", "I passed my driving test", "The user passed their driving test."),
    ("I have my doubts that I won the prize.", "I won the prize", "The user won the prize."),
    ("Nobody can prove that I stole the bike.", "I stole the bike", "The user stole the bike."),
    ("My kitchen lacks a dishwasher.", "a dishwasher", "The user has a dishwasher."),
    ("I am searching for a flat in Bonn.", "a flat in Bonn", "The user has a flat in Bonn."),
    ("Our postman swears I own a wolf.", "I own a wolf", "The user owns a wolf."),
    ("Mum: I turned sixty\nMe: congrats", "I turned sixty", "The user turned sixty."),
    ("Ravi, 09:12\nI quit smoking\nMe, 09:13\nbravo", "I quit smoking", "The user quit smoking."),
    ("In this series the villain says I poisoned the king.", "I poisoned the king", "The user poisoned the king."),
    ("In my favourite novel I am a detective.", "I am a detective", "The user is a detective."),
    ("In the novel I'm writing, I live in Tokyo.", "I live in Tokyo", "The user lives in Tokyo."),
    ("In the game that we play, I am a nurse.", "I am a nurse", "The user is a nurse."),
    ("Sofia paints portraits.", "paints portraits", "The user paints portraits."),
    ("The guy upstairs plays drums.", "plays drums", "The user plays drums."),
    ("Two of my cousins run a bakery.", "run a bakery", "The user runs a bakery."),
    ("When have I ever eaten snails?", "eaten snails", "The user has eaten snails."),
    ("Who on earth told you I sing?", "I sing", "The user sings."),
    ("Had I won the lottery, I would tell you.", "I won the lottery", "The user won the lottery."),
    ("Assuming I get the visa, I will fly in May.", "I get the visa", "The user got the visa."),
    ("I crave a holiday in Crete.", "a holiday in Crete", "The user has a holiday in Crete."),
    ("I'd kill for a balcony.", "a balcony", "The user has a balcony."),
)
