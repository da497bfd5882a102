// GraphLayout: where the nodes of the graph are: linked ones attract each other, all others keep apart.
const MOST_TOPICS = 40; // the hottest ones
const MOST_NAMES = 50; // those in the most topics
const MOST_MARKS = 80; // names and words
const OWN_NAMES = 2; // of a topic, that no other topic has
const WORDS = 12; // keywords of a topic that count
const ROUNDS = 300;
const GRAVITY = 0.18; // towards the middle, so that what nothing links stays near
const APART = 120; // rounds in which words move apart
const GOLDEN = 2.399963; // the golden angle

// Topics, the people, places and things that they name, and the words that link two topics.
export function graphOf(segments) {
  const topics = [...segments].sort((one, other) => other.heat - one.heat).slice(0, MOST_TOPICS);
  const hottest = Math.max(...topics.map((topic) => topic.heat), 1e-9);
  const topicNodes = topics.map((topic) => ({ id: topic.id, topic, label: topic.keywords.slice(0, 2).join(", ") || topic.text.slice(0, 24), radius: 8 + 2.6 * Math.sqrt(topic.pages), warmth: topic.heat / hottest }));
  const byId = new Map(topicNodes.map((node) => [node.id, node]));
  const names = namesOf(topics);
  const said = new Set(names.flatMap(([name]) => name.toLowerCase().split(/\s+/)));
  const words = homesOf(topics, (topic) => topic.keywords.slice(0, WORDS)).filter(([word, found]) => found.length > 1 && !said.has(word));
  const marks = [...names.map((one) => [...one, true]), ...words.slice(0, MOST_MARKS - names.length).map((one) => [...one, false])];
  const markNodes = marks.map(([label, , isName]) => ({ id: `${isName ? "name" : "word"} ${label}`, label, isName, radius: isName ? 6 : 4 }));
  const links = marks.flatMap(([, found], index) => found.map((topic) => ({ from: byId.get(topic.id), to: markNodes[index] })));
  return { nodes: [...topicNodes, ...markNodes], links };
}

// The names in several topics, and the first ones of each topic that are in no other.
function namesOf(topics) {
  const own = new Map();
  return homesOf(topics, (topic) => topic.entities).filter(([, found]) => {
    if (found.length > 1) return true;
    own.set(found[0].id, (own.get(found[0].id) ?? 0) + 1);
    return own.get(found[0].id) <= OWN_NAMES;
  }).slice(0, MOST_NAMES);
}

// What the topics have, each with its topics; first what is in the most of them.
function homesOf(topics, had) {
  const homes = new Map();
  for (const topic of topics) for (const one of had(topic)) homes.set(one, [...(homes.get(one) ?? []), topic]);
  return [...homes].sort(([, one], [, other]) => other.length - one.length);
}

// The same graph with places in a box. It begins on a spiral, so that the same memory always looks the same.
export function laidOut(graph, wide, high) {
  graph.nodes.forEach((node, index) => {
    const [turn, far] = [index * GOLDEN, Math.sqrt(index + 1)];
    [node.x, node.y] = [far * Math.cos(turn), far * Math.sin(turn)];
  });
  for (let round = 0; round < ROUNDS; round += 1) settle(graph, 2 * (1 - round / ROUNDS) + 0.02);
  return fitted(graph, wide, high);
}

// One step of Fruchterman and Reingold, in which nodes want to be one apart.
function settle({ nodes, links }, most) {
  for (const node of nodes) [node.dx, node.dy] = [-node.x * GRAVITY, -node.y * GRAVITY];
  nodes.forEach((one, index) => {
    for (const other of nodes.slice(index + 1)) pull(one, other, (far) => -1 / far);
  });
  for (const { from, to } of links) pull(from, to, (far) => far * far);
  for (const node of nodes) {
    const by = Math.hypot(node.dx, node.dy) || 1;
    node.x += (node.dx / by) * Math.min(by, most);
    node.y += (node.dy / by) * Math.min(by, most);
  }
}

function pull(one, other, force) {
  const [x, y] = [other.x - one.x, other.y - one.y];
  const far = Math.max(0.05, Math.hypot(x, y));
  const by = force(far) / far;
  one.dx += x * by;
  one.dy += y * by;
  other.dx -= x * by;
  other.dy -= y * by;
}

function fitted(graph, wide, high) {
  const place = (name, room, edge) => {
    const all = graph.nodes.map((node) => node[name]);
    const [least, most] = [Math.min(...all), Math.max(...all)];
    for (const node of graph.nodes) node[name] = most > least ? edge + ((node[name] - least) / (most - least)) * (room - 2 * edge) : room / 2;
  };
  place("x", wide, 78);
  place("y", high, 44);
  for (let round = 0; round < APART; round += 1) untangle(graph.nodes, wide, high);
  return graph;
}

// Moves nodes apart whose signs and words would cover each other, along the shorter way.
function untangle(nodes, wide, high) {
  nodes.forEach((one, index) => {
    for (const other of nodes.slice(index + 1)) {
      const [x, y] = [other.x - one.x, other.y + below(other) - one.y - below(one)];
      const [coverX, coverY] = [half(one) + half(other) - Math.abs(x), tall(one) + tall(other) - Math.abs(y)];
      if (coverX <= 0 || coverY <= 0) continue;
      if (coverX < coverY) slide(one, other, "x", (Math.sign(x) || 1) * coverX * 0.25);
      else slide(one, other, "y", (Math.sign(y) || 1) * coverY * 0.25);
    }
  });
  for (const node of nodes) {
    node.x = Math.min(wide - half(node), Math.max(half(node), node.x));
    node.y = Math.min(high - node.radius - 22, Math.max(node.radius + 22, node.y));
  }
}

function slide(one, other, name, by) {
  one[name] -= by;
  other[name] += by;
}

// Half of the width and of the height that a node takes with its words; those in Chinese are twice as wide.
const half = (node) => Math.max(node.radius + 4, [...node.label].reduce((sum, sign) => sum + (sign > "\u2e80" ? 6.5 : 3.4), 4));
const tall = (node) => (node.topic ? node.radius + 11 : 14);
const below = (node) => (node.topic ? 10 : -8); // from the middle of the node to that of node and words
