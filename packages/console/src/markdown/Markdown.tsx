/**
 * Markdown from an agent as React elements. HTML is shown as text, only safe links are links, and images are not loaded. A growing text has stable
 * segments and an open end, so that a streamed word does not render the whole text again.
 *
 * Text that the parser can't process safely is shown as plain text.
 */
import { Component, type ReactNode, memo } from "react"
import ReactMarkdown, { type Components } from "react-markdown"
import remarkGfm from "remark-gfm"
import { Code } from "./Code.tsx"
import { visibleText } from "./visible.ts"
import "./markdown.css"

interface MarkdownSegment {
  /** Start offset. Identifies the segment, because the text only grows. */
  readonly start: number
  readonly text: string
}

const fence = /^ {0,3}(`{3,}|~{3,})/

/** Splits at blank lines outside of fenced code, into segments of at least `least` characters. The last one is the open end. */
export const splitMarkdown = (text: string, least = 600): ReadonlyArray<MarkdownSegment> => {
  const cut: Array<MarkdownSegment> = []
  let start = 0
  let open: string | undefined
  for (let at = 0; at < text.length;) {
    const end = text.indexOf("\n", at)
    if (end === -1) break
    const line = text.slice(at, Math.min(end, at + 80))
    const [, marks] = fence.exec(line) ?? []
    if (open === undefined) open = marks
    else if (marks !== undefined && marks[0] === open[0] && marks.length >= open.length) open = undefined
    at = end + 1
    if (open === undefined && line.trim() === "" && at - start >= least) {
      cut.push({ start, text: text.slice(start, at) })
      start = at
    }
  }
  return [...cut, { start, text: text.slice(start) }]
}

const LONGEST = 16_384
const LONGEST_LINE = 4_096
const MOST_LINES = 2_000
const DEEPEST = 20
/** Parse time grows with the square of the number of brackets and emphasis marks in a block. */
const MOST_MARKS = 400
/** Parse time of other text is linear. */
const MOST_OTHERS = 8_000
const opening = /^[\s>*+\-\d.)]*/
/** Starts a block even directly after a line of text. */
const beginsBlock = /^ {0,3}(?:[-*+] +\S|1[.)] +\S|#{1,6} )/

const count = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0

/** Whether the Markdown parser can process a text in bounded time. */
export const isSafeToParse = (text: string): boolean => {
  if (text.length > LONGEST || count(text, /[`<&|!]/g) > MOST_OTHERS) return false
  const lines = text.split("\n")
  let inBlock = 0
  return (
    lines.length <= MOST_LINES &&
    lines.every((line) => {
      if (line.length > LONGEST_LINE) return false
      const nested = opening.exec(line)?.[0].replaceAll(/[^>*+)-]/g, "").length ?? 0
      if (nested > DEEPEST && !/^\s*([-*]\s*){3,}$/.test(line)) return false
      if (line.trim() === "" || beginsBlock.test(line)) inBlock = 0
      inBlock += count(line, /[[\]*_~]/g)
      return inBlock <= MOST_MARKS
    })
  )
}

/** Allowed link protocols: web pages and email. */
const safeHref = (href: string | undefined): string | undefined =>
  href !== undefined && /^(https?:\/\/|mailto:)/i.test(href) ? href : undefined

const textOf = (node: ReactNode): string =>
  typeof node === "string" ? node : Array.isArray(node) ? node.map(textOf).join("") : ""

const Outward = ({
  children,
  href
}: {
  readonly children?: ReactNode
  readonly href: string | undefined
}) => {
  const safe = safeHref(href)
  return safe === undefined ? (
    <bdi>{children}</bdi>
  ) : (
    // An address runs from left to right in every text.
    <a
      href={safe}
      {...(/^https?:/i.test(textOf(children)) ? { dir: "ltr" } : {})}
      target="_blank"
      rel="noreferrer noopener"
      title={safe}
    >
      {children}
    </a>
  )
}

const components: Components = {
  a: ({ children, href }) => <Outward href={href}>{children}</Outward>,
  img: ({ alt, src }) => (
    <Outward href={typeof src === "string" ? src : undefined}>{`🖼 ${alt || "image"}`}</Outward>
  ),
  pre: ({ children }) => <>{children}</>,
  code: ({ children, className }) => {
    const text = textOf(children)
    const language = /language-([\w+#-]+)/.exec(className ?? "")?.[1]
    return language === undefined && !text.includes("\n") ? (
      <code dir="ltr">{text}</code>
    ) : (
      <Code text={text.replace(/\n$/, "")} language={language} />
    )
  },
  // The marks and the bar are on the side where the text begins. Lines have their direction by the style sheet.
  ul: ({ children }) => <ul dir="auto">{children}</ul>,
  ol: ({ children, start }) => (
    <ol dir="auto" start={start}>
      {children}
    </ol>
  ),
  blockquote: ({ children }) => <blockquote dir="auto">{children}</blockquote>,
  // The page has its own heading levels.
  h1: ({ children }) => <p className="md-heading">{children}</p>,
  h2: ({ children }) => <p className="md-heading">{children}</p>,
  h3: ({ children }) => <p className="md-heading md-heading-small">{children}</p>,
  h4: ({ children }) => <p className="md-heading md-heading-small">{children}</p>,
  h5: ({ children }) => <p className="md-heading md-heading-small">{children}</p>,
  h6: ({ children }) => <p className="md-heading md-heading-small">{children}</p>,
  table: ({ children }) => (
    <div className="md-table cut-sideways" role="group" tabIndex={0}>
      <table dir="auto">{children}</table>
    </div>
  ),
  input: ({ checked }) => <span>{checked ? "☑ " : "☐ "}</span>
}

const plugins = [remarkGfm]

class Plain extends Component<{ readonly text: string; readonly children: ReactNode }, { broken: boolean }> {
  override state = { broken: false }
  static getDerivedStateFromError() {
    return { broken: true }
  }
  override render() {
    return this.state.broken ? <p className="md-plain">{this.props.text}</p> : this.props.children
  }
}

export const Markdown = memo(({ text }: { readonly text: string }) => {
  const honest = visibleText(text)
  if (!isSafeToParse(honest)) return <p className="md-plain">{honest}</p>
  return (
    <Plain text={honest}>
      <div className="md">
        <ReactMarkdown
          remarkPlugins={plugins}
          components={components}
          skipHtml={false}
          urlTransform={(url) => safeHref(url) ?? ""}
        >
          {honest}
        </ReactMarkdown>
      </div>
    </Plain>
  )
})
