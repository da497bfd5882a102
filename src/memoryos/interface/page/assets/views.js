// Views: what can be looked at, in the order in which it is offered.
import { Audit } from "./views/audit.js";
import { Graph } from "./views/graph.js";
import { Jobs } from "./views/jobs.js";
import { Knowledge } from "./views/knowledge.js";
import { Manage } from "./views/manage.js";
import { Overview } from "./views/overview.js";
import { Search } from "./views/search.js";
import { Sharing } from "./views/sharing.js";
import { Timeline } from "./views/timeline.js";
import { Topics } from "./views/topics.js";
import { Usage } from "./views/usage.js";

export const VIEWS = [
  { name: "overview", View: Overview },
  { name: "search", View: Search },
  { name: "timeline", View: Timeline },
  { name: "topics", View: Topics },
  { name: "knowledge", View: Knowledge },
  { name: "graph", View: Graph },
  { name: "sharing", View: Sharing },
  { name: "jobs", View: Jobs },
  { name: "usage", View: Usage },
  { name: "audit", View: Audit, isOfStore: true },
  { name: "manage", View: Manage },
];
