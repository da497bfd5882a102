// Own words in Chinese: what the program itself wrote in English: names of traits, causes of changes, reasons of values.
export const LEVELS = { low: "低", medium: "中", high: "高" };

export const TRAITS = {
  Extraversion: "外向性", Openness: "开放性", Agreeableness: "宜人性", Conscientiousness: "尽责性", Neuroticism: "神经质",
  "Physiological Needs": "生理需求", "Need for Security": "安全需求", "Need for Belonging": "归属需求",
  "Need for Self-Esteem": "自尊需求", "Cognitive Needs": "认知需求", "Aesthetic Appreciation": "审美",
  "Self-Actualization": "自我实现", "Need for Order": "秩序需求", "Need for Autonomy": "自主需求", "Need for Power": "权力需求",
  "Need for Achievement": "成就需求", "Need for Intimacy": "亲密需求", "Need for Privacy": "隐私需求",
  "Need for Novelty": "新奇需求", "Need for Leisure": "休闲需求", "Need for Meaning": "意义需求", Optimism: "乐观",
  Empathy: "同理心", Resilience: "韧性", "Risk Tolerance": "风险承受", Competitiveness: "好胜心", Creativity: "创造力",
  Patience: "耐心", Helpfulness: "有用", Honesty: "诚实", Safety: "安全", "Instruction Compliance": "遵循指令",
  Truthfulness: "真实", Coherence: "连贯", Complexity: "复杂程度", Conciseness: "简洁", Formality: "正式程度",
  Proactivity: "主动性", Personalisation: "个性化", "Empathetic Tone": "体贴的语气", Directness: "直接",
  "Creative Freedom": "创作自由", "Source Citation": "注明出处", "Step-by-Step Guidance": "分步指导",
  "Use of Examples": "举例", Neutrality: "中立", "Privacy Respect": "尊重隐私", "Answer Language": "回答语言",
  "Science Interest": "对科学的兴趣", "Education Interest": "对教育的兴趣", "Psychology Interest": "对心理学的兴趣",
  "Family Concern": "关心家庭", "Fashion Interest": "对时尚的兴趣", "Art Interest": "对艺术的兴趣", "Health Concern": "关心健康",
  "Financial Management Interest": "对理财的兴趣", "Sports Interest": "对体育的兴趣", "Food Interest": "对美食的兴趣",
  "Travel Interest": "对旅行的兴趣", "Music Interest": "对音乐的兴趣", "Literature Interest": "对文学的兴趣",
  "Film Interest": "对电影的兴趣", "Social Media Activity": "社交媒体活跃度", "Tech Interest": "对科技的兴趣",
  "Environmental Concern": "关心环境", "History Interest": "对历史的兴趣", "Political Concern": "关心政治",
  "Religious Interest": "对宗教的兴趣", "Gaming Interest": "对游戏的兴趣", "Animal Concern": "关心动物",
  "Emotional Expression": "情感表达", "Sense of Humor": "幽默感", "Information Density": "信息密度",
  "Language Style": "语言风格", Practicality: "务实", "Home and Gardening": "家居与园艺", "Crafts and DIY": "手工",
  Photography: "摄影", Parenting: "育儿", "Pet Keeping": "养宠物", Fitness: "健身", "Outdoor Activities": "户外活动",
  Cooking: "烹饪", "Cars and Vehicles": "汽车", "Career Development": "职业发展", Volunteering: "志愿服务",
  "Language Learning": "学习语言", Dance: "舞蹈", Television: "电视", "Romance and Relationships": "恋爱与关系",
  "Grasp of numbers": "数感", "Love of reading": "爱阅读", Curiosity: "好奇心", "Need of help": "需要帮助",
  Perseverance: "毅力", Confidence: "自信", "Worry about school": "对学校的担忧", "Play and friends": "玩耍与朋友",
  Urgency: "紧迫", Frustration: "不满", "Risk of leaving": "流失风险", Satisfaction: "满意度", "Technical skill": "技术水平",
  "Need of guidance": "需要指导", "Interest in price": "关注价格", "Preference for a call": "偏好电话",
};

// By its pattern, the reason of a trait that rules or a model found.
export const GROUNDS = [
  [/^mentioned ([^]*)$/, "提到 {0}"],
  [/^said "([^]*)"$/, "说过“{0}”"],
  [/^spoke against it$/, "说过相反的话"],
];

// By its pattern, the cause of a change of state that the program wrote itself, and that has no name.
export const CAUSES = [
  [/^not used: rule ([^]*)$/, "未使用：规则 {0}"],
  [/^the memory that it was merged into is gone$/, "它所并入的记忆已不存在"],
];

// By its pattern, a reason of a tuned value; {0} is its first number.
export const REASONS = [
  [/^set by hand$/, "手动设置"],
  [/^the paper's value, until (\d+) pages are in MTM$/, "论文的值，直到中期记忆有 {0} 页"],
  [/^the paper's value: self-tuning is off$/, "论文的值：自调已关闭"],
  [/^the paper's value: (\d+) pairs of pages are needed to tell$/, "论文的值：至少需要 {0} 对页"],
  [/^the paper's value: (\d+) segments are needed to tell$/, "论文的值：至少需要 {0} 个主题段"],
  [/^the paper's value: (\d+) probes are needed to tell$/, "论文的值：至少需要 {0} 次试探"],
  [/^the paper's value: (\d+) answers are needed to tell$/, "论文的值：至少需要 {0} 个回答"],
  [
    /^halfway between what half of (\d+) pairs of neighbouring pages reach \(([\d.-]+)\) and what 9 of 10 of (\d+) pairs of different sittings stay below \(([\d.-]+)\)/,
    "{0} 对相邻页中一半达到的值（{1}）与 {2} 对不同场次的页中九成不及的值（{3}）的中点",
  ],
  [/^(\d+)% of the pages lie in segments that get hotter/, "{0}% 的页所在的主题段更热"],
  [/^the (\d+) pages that fit a turn best lie in so many of its best segments, or fewer/, "与一轮最相符的 {0} 页，都在最相符的这么多个主题段以内"],
  [/^(\d+)% of the answers are among so many pages that fit best what they answer/, "{0}% 的回答在与所答最相符的这么多页之内"],
  [/^answers lie nearest to what they answer; their mean rank is ([^;]+)/, "回答离所答最近；平均名次：{0}"],
];
export const WEIGHTS = [/([\d.]+) with ([\d.]+)/g, "权重 $2 时为 $1"];
export const BOUND = [/; that would be ([\d.-]+), and the bound holds$/, "；本应为 {0}，按界限取值"];
