// GraphLayout: where the nodes of the graph are: linked ones attract each other, all others keep apart.
const MOST_TOPICS = 40; // the hottest ones
const MOST_WORDS = 70; // those in the most topics
const WORDS = 12; // keywords of a topic that count
const ROUNDS = 260;

// Topics and their words: those that link two topics, and where a topic has none of these, its first one.
export function graphOf(segments) {
  const topics = [...segments].sort((one, other) => other.heat - one.heat).slice(0, MOST_TOPICS);
  const hottest = Math.max(...topics.map((topic) => topic.heat), 1e-9);
  const homes = new Map();
  for (const topic of topics) {
    for (const word of topic.keywords.slice(0, WORDS)) homes.set(word, [...(homes.get(word) ?? []), topic]);
  }
  const linking = [...homes].filter(([, found]) => found.length > 1).sort(([, one], [, other]) => other.length - one.length).slice(0, MOST_WORDS);
  const nodes = topics.map((topic) => ({ id: topic.id, topic, label: topic.keywords.slice(0, 2).join(", ") || topic.text.slice(0, 24), radius: 8 + 2.6 * Math.sqrt(topic.page_ids.length), warmth: topic.heat / hottest }));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const links = [];
  for (const [word, found] of linking) {
    const node = { id: `word ${word}`, label: word, radius: 4 };
    nodes.push(node);
    for (const topic of found) links.push({ from: byId.get(topic.id), to: node });
  }
  return { nodes, links };
}

// The same graph with places in a box. It begins on a spiral, so that the same memory always looks the same.
export function laidOut(graph, wide, high) {
  graph.nodes.forEach((node, index) => {
    const turn = index * 2.399963; // the golden angle
    const far = 0.46 * Math.sqrt((index + 0.5) / graph.nodes.length);
    node.x = wide * (0.5 + far * Math.cos(turn));
    node.y = high * (0.5 + far * Math.sin(turn));
  });
  const room = Math.sqrt((wide * high) / Math.max(1, graph.nodes.length));
  for (let round = 0; round < ROUNDS; round += 1) settle(graph, room, wide, high, 1 - round / ROUNDS);
  return graph;
}

function settle({ nodes, links }, room, wide, high, heat) {
  for (const node of nodes) [node.dx, node.dy] = [(wide / 2 - node.x) * 0.012, (high / 2 - node.y) * 0.02];
  nodes.forEach((node, index) => nodes.slice(index + 1).forEach((other) => part(node, other, room)));
  for (const { from, to } of links) join(from, to, room);
  for (const node of nodes) {
    const by = Math.hypot(node.dx, node.dy) || 1;
    const most = Math.min(by, 24 * heat + 0.5);
    const edge = node.radius + 26;
    node.x = Math.min(wide - edge - 20, Math.max(edge + 20, node.x + (node.dx / by) * most));
    node.y = Math.min(high - edge, Math.max(edge - 6, node.y + (node.dy / by) * most));
  }
}

function part(node, other, room) {
  const [x, y] = [node.x - other.x || 0.1, node.y - other.y || 0.1];
  const far = Math.max(6, Math.hypot(x, y) - (node.radius + other.radius) * 0.7);
  const push = (room * room * 0.55) / (far * far);
  const unit = Math.hypot(x, y);
  shift(node, other, (x / unit) * push * far * 0.06, (y / unit) * push * far * 0.06);
}

function join(from, to, room) {
  const [x, y] = [to.x - from.x, to.y - from.y];
  const far = Math.hypot(x, y) || 1;
  const pull = (far - room * 0.8) * 0.035;
  shift(from, to, (x / far) * pull, (y / far) * pull);
}

function shift(one, other, x, y) {
  one.dx += x;
  one.dy += y;
  other.dx -= x;
  other.dy -= y;
}
