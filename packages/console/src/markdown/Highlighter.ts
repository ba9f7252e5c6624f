/**
 * Syntax highlighting by highlight.js, as a tree of text and classes instead of HTML.
 *
 * A separate bundle that loads on demand. Supports a few languages.
 */
import type { Emitter } from "highlight.js"
import hljs from "highlight.js/lib/core"
import bash from "highlight.js/lib/languages/bash"
import c from "highlight.js/lib/languages/c"
import css from "highlight.js/lib/languages/css"
import diff from "highlight.js/lib/languages/diff"
import go from "highlight.js/lib/languages/go"
import java from "highlight.js/lib/languages/java"
import javascript from "highlight.js/lib/languages/javascript"
import json from "highlight.js/lib/languages/json"
import markdown from "highlight.js/lib/languages/markdown"
import python from "highlight.js/lib/languages/python"
import rust from "highlight.js/lib/languages/rust"
import sql from "highlight.js/lib/languages/sql"
import typescript from "highlight.js/lib/languages/typescript"
import xml from "highlight.js/lib/languages/xml"
import yaml from "highlight.js/lib/languages/yaml"

export type Token = string | { readonly className: string; readonly children: ReadonlyArray<Token> }

interface Open {
  readonly className: string
  readonly children: Array<Token>
}

const classOf = (scope: string): string =>
  scope
    .split(".")
    .map((part, at) => (at === 0 ? `hljs-${part}` : `${part}${"_".repeat(at)}`))
    .join(" ")

/** Token emitter that highlight.js calls. */
class Collector implements Emitter {
  readonly root: Open = { className: "", children: [] }
  private readonly open: Array<Open> = [this.root]

  private get top(): Open {
    return this.open.at(-1) ?? this.root
  }

  addText(text: string): void {
    if (text !== "") this.top.children.push(text)
  }

  startScope(scope: string): void {
    this.openNode(scope)
  }

  endScope(): void {
    this.closeNode()
  }

  openNode(scope: string): void {
    const node: Open = { className: classOf(scope), children: [] }
    this.top.children.push(node)
    this.open.push(node)
  }

  closeNode(): void {
    if (this.open.length > 1) this.open.pop()
  }

  __addSublanguage(other: Emitter): void {
    if (other instanceof Collector) this.top.children.push(...other.root.children)
  }

  closeAllNodes(): void {
    this.open.length = 1
  }

  finalize(): void {
    this.closeAllNodes()
  }

  toHTML(): string {
    return ""
  }
}

const languages = {
  bash,
  c,
  css,
  diff,
  go,
  java,
  javascript,
  json,
  markdown,
  python,
  rust,
  sql,
  typescript,
  xml,
  yaml
}
for (const [name, language] of Object.entries(languages)) hljs.registerLanguage(name, language)
hljs.registerAliases(["cpp", "cc", "h", "hpp"], { languageName: "c" })
hljs.registerAliases(["jsonc", "jsonl"], { languageName: "json" })
hljs.configure({ __emitter: Collector })

/** Returns `undefined` for an unknown language or unreadable code. */
export const tokenize = (code: string, language: string): ReadonlyArray<Token> | undefined => {
  if (hljs.getLanguage(language) === undefined) return undefined
  const { _emitter } = hljs.highlight(code, { language, ignoreIllegals: true })
  return _emitter instanceof Collector ? _emitter.root.children : undefined
}
