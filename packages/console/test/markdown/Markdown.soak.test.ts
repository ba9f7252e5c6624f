/** The Markdown parser on hostile text: it parses any repetition, on one line or on many, in about a second. */
import { assert, describe, it } from "@effect/vitest"
import { createElement } from "react"
import { renderToStaticMarkup } from "react-dom/server"
import ReactMarkdown from "react-markdown"
import remarkGfm from "remark-gfm"
import { isSafeToParse } from "../../src/markdown/Markdown.tsx"

const marks = (
  "[ ] ]( ][ [a]( ![ *a a* _a **a* *** ` ``a` ~ ~~a <a <!-- <http://a &# & \\ a@b.c www. http:// | |- - 1. 2. > # " +
  "[^a] [^a]: [a]: + * {"
).split(" ")
const LIMIT_MS = 4_000
const SIZE = 16_000

describe("Markdown", () => {
  it("of repeated marks, and of pairs of them, is read in bounded time", () => {
    const slow: Array<string> = []
    const parts = [
      ...marks,
      ...marks.flatMap((first, i) => [`${first} ${marks[(i * 7 + 3) % marks.length]}`])
    ]
    for (const part of parts)
      for (const each of [1, 20, 100]) {
        const line = `${part} `.repeat(each)
        const text = `${line}\n`.repeat(Math.floor(SIZE / (line.length + 1)))
        if (!isSafeToParse(text)) continue
        const started = performance.now()
        renderToStaticMarkup(createElement(ReactMarkdown, { remarkPlugins: [remarkGfm] }, text))
        const tookMs = performance.now() - started
        if (tookMs > LIMIT_MS) slow.push(`${JSON.stringify(part)} ${each} a line: ${Math.round(tookMs)} ms`)
      }
    assert.deepStrictEqual(slow, [])
  })
})
