/** Document of a page that the Hub serves itself, without the console's files: one style, at most one script, its own content policy. */
import { contentPolicy } from "./PagePolicy.ts"
import { pageStyle } from "./PageStyle.ts"

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
