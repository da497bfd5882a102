// Icons: lines of one weight, drawn for the page. They are beside words and say nothing of their own.
import { html } from "./html.js";

const LINES = {
  overview: "M3 5h14M3 10h10M3 15h6",
  timeline: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM10 6v4l3 2",
  topics: "M4 4h5v5H4zM11 4h5v5h-5zM4 11h5v5H4zM11 11h5v5h-5z",
  knowledge: "M10 10a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4zM3.8 16.6c.8-3 3.200-4.400 6.200-4.400s5.400 1.400 6.200 4.400",
  search: "M9 3.500a5.500 5.500 0 1 0 0 11 5.500 5.500 0 0 0 0-11zM13.200 13.200 17 17",
  graph: "M5 6.500a1.800 1.800 0 1 0 0-3.600 1.800 1.800 0 0 0 0 3.600zM15 8.500a1.800 1.800 0 1 0 0-3.600 1.800 1.800 0 0 0 0 3.600zM8 17a1.800 1.800 0 1 0 0-3.600A1.800 1.800 0 0 0 8 17zM6.700 5.100l6.600 1.300M5.500 6.400l2 7.100M13.900 8.100l-4.700 5.900",
  sharing: "M4 10v6h12v-6M10 12V3M6.500 6.500 10 3l3.500 3.500",
  jobs: "M10 3v2.500M10 14.500V17M3 10h2.500M14.500 10H17M5 5l1.800 1.800M13.200 13.200 15 15M15 5l-1.800 1.800M6.800 13.200 5 15",
  audit: "M5 3h7l3 3v11H5zM8 9h4M8 12h4",
  usage: "M4 16V9M8.500 16V4M13 16v-5M17 16H3",
  manage: "M10 12.500a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5zM10 3v2M10 15v2M3 10h2M15 10h2",
};

export const ICON = new URL("icon.svg", import.meta.url).href;

export const Icon = ({ name }) => html`<svg class="icon" viewBox="0 0 20 20" aria-hidden="true"><path d=${LINES[name]} /></svg>`;
