/**
 * Document of a page that the Hub serves itself, without the console's files: one style, at most one script, its own content policy. Also its style
 * and its content policy.
 */
import { createHash } from "node:crypto"

// Style of the Hub's own pages: the tokens of the console's design that they need, light and dark, and their few elements.
//
// These pages work without the console's files, so they repeat its values. A test compares them with the console's `tokens.css`.

export const pageStyle = `
  :root {
    color-scheme: light dark;
    --side: light-dark(#f5f6f4, #0f1214);
    --raised: light-dark(#ffffff, #1b1f22);
    --sunken: light-dark(#f1f2f0, #0c0f10);
    --hover: light-dark(#ebedea, #23282c);
    --line: light-dark(#dcdfdb, #2c3236);
    --edge: light-dark(#878f8a, #6d7772);
    --ink: light-dark(#1b211f, #e8ecea);
    --body: light-dark(#333b38, #cfd6d2);
    --quiet: light-dark(#59635f, #9aa5a0);
    --accent: light-dark(#1b6350, #5cc3a5);
    --on-accent: light-dark(#ffffff, #07231b);
    --wait: light-dark(#7a4d0a, #e6b45c);
    --wait-soft: light-dark(#fbf0db, #33260e);
    --radius: 6px;
    --radius-composer: 14px;
  }
  * { box-sizing: border-box }
  body {
    display: grid; place-items: center; min-height: 100dvh; margin: 0; padding: 1rem; background: var(--side); color: var(--body);
    font: 0.9375rem/1.5rem "Geist Variable", system-ui, -apple-system, "Segoe UI", "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif;
  }
  main {
    display: grid; gap: 1rem; width: min(26rem, 100%); padding: 2rem 1.5rem; border: 1px solid var(--line);
    border-radius: var(--radius-composer); background: var(--raised); overflow-wrap: anywhere;
  }
  svg { color: var(--accent) }
  svg path { stroke: var(--on-accent); stroke-width: 2.4; stroke-linecap: round; fill: none }
  h1 { margin: 0; color: var(--ink); font-size: 1.375rem; font-weight: 600; line-height: 1.75rem }
  p, dl { margin: 0 }
  form, section { display: grid; gap: 1rem }
  label { display: grid; gap: .25rem; color: var(--ink); font-weight: 600 }
  input {
    width: 100%; min-height: 2.75rem; padding: .5rem .75rem; border: 1px solid var(--edge); border-radius: var(--radius);
    background: var(--raised); color: var(--ink); font: inherit; font-size: 1rem; font-weight: 400;
  }
  button {
    min-height: 2.75rem; padding: .5rem .75rem; border: 1px solid var(--edge); border-radius: var(--radius); background: var(--raised);
    color: var(--ink); font: inherit; font-weight: 500; cursor: pointer;
  }
  button:hover { background: var(--hover) }
  button.primary { border-color: var(--accent); background: var(--accent); color: var(--on-accent) }
  button.primary:hover { filter: brightness(1.08) }
  :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
  .buttons { display: grid; grid-template-columns: 1fr 1fr; gap: .5rem }
  .quiet, dt { color: var(--quiet); font-size: .8125rem; line-height: 1.25rem }
  dd { margin: 0 0 .75rem; color: var(--ink); unicode-bidi: isolate }
  dd b { unicode-bidi: isolate }
  .code {
    padding: .75rem; border-radius: var(--radius); background: var(--sunken); color: var(--ink);
    font: 600 1.75rem/2.25rem ui-monospace, "SF Mono", Menlo, Consolas, monospace; letter-spacing: .1em; text-align: center;
  }
  .warning { padding: .75rem; border: 1px solid var(--wait); border-radius: var(--radius); background: var(--wait-soft); color: var(--ink) }
  p:empty { display: none }
  [hidden] { display: none }
`

// Content policy of a single page: its one script, its one style and requests to the Hub.

/** Source of a policy that allows exactly this script or style. */
export const sourceHash = (text: string): string =>
  `'sha256-${createHash("sha256").update(text).digest("base64")}'`

export const contentPolicy = (script: string, style: string): string =>
  [
    "default-src 'none'",
    `script-src ${sourceHash(script)}`,
    `style-src ${sourceHash(style)}`,
    "connect-src 'self'",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'"
  ].join("; ")

interface Content {
  readonly title: string
  /** HTML of the page. The script of a page in two languages fills in its texts. */
  readonly body: string
  readonly lang?: "en" | "zh-CN"
  readonly script?: string
  /** Whether search engines must ignore the page. */
  readonly isPrivate?: boolean
}

const mark =
  '<svg viewBox="0 0 32 32" width="32" height="32" aria-hidden="true"><rect width="32" height="32" rx="7" fill="currentColor"/><path d="M7 9v15M16 7v17M25 9v15M5 13h22M5 19h22"/></svg>'

export const hubPage = ({
  body,
  isPrivate = false,
  lang = "en",
  script,
  title
}: Content): string => `<!doctype html>
<html lang="${lang}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">${isPrivate ? '\n<meta name="robots" content="noindex">' : ""}
<title>${title}</title>
<style>${pageStyle}</style>
<main>
${mark}
${body}
</main>
${script === undefined ? "" : `<script type="module">${script}</script>\n`}</html>
`

/** Headers of a page with this script. */
export const hubPageHeaders = (script: string) => ({
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "content-security-policy": contentPolicy(script, pageStyle)
})
