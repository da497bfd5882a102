// GraphLayout: where the nodes of the graph are: linked ones attract each other, all others keep apart.
const MOST_TOPICS = 40; // the hottest ones
const MOST_WORDS = 70; // those in the most topics
const WORDS = 12; // keywords of a topic that count
const ROUNDS = 300;
const GRAVITY = 0.18; // towards the middle, so that what nothing links stays near
const APART = 120; // rounds in which words move apart
const GOLDEN = 2.399963; // the golden angle

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
