/**
 * Markdown from an agent as React elements. HTML is shown as text, only safe links are links, and images are not loaded.
 *
 * Text that the parser can't process safely is shown as plain text.
 */
import { Component, memo, type ReactNode } from "react"
import ReactMarkdown, { type Components } from "react-markdown"
import remarkGfm from "remark-gfm"
import { Code } from "./Code.tsx"
import { isSafeToParse } from "./segments.ts"
import { visibleText } from "./visible.ts"
import "./markdown.css"

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
