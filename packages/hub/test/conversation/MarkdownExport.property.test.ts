/** Markdown of exports with hostile texts: the lines outside of code blocks are only those of the export. */
import { assert, describe, it } from "@effect/vitest"
import type { MessageId, ProjectId, SessionId } from "@corral/domain/identity/Ids"
import { Schema } from "effect"
import { tries } from "@corral/testing/time/Effort"
import { markdownHead, markdownMessage } from "../../src/conversation/SessionExport.ts"

const Piece = Schema.Literals([
  "`",
  "```",
  "````",
  "~~~",
  "\n",
  "\r",
  "\r\n",
  "# ",
  "## x",
  "> ",
  "- ",
  "<!--",
  "<script>",
  "</details>",
  "    ",
  "[a](b)",
  "![",
  "---",
  "===",
  "|",
  "a",
  "数",
  "\u202e",
  "\u2028",
  "*",
  "_",
  "&amp;",
  "\\"
])
const Hostile = Schema.Array(Piece).check(Schema.isMaxLength(25))

/** Lines outside of code blocks, as CommonMark finds them; fails if a block is open at the end. */
const linesOutside = (markdown: string): ReadonlyArray<string> => {
  const outside: Array<string> = []
  let fence: string | undefined
  for (const line of markdown.split(/\r\n|\r|\n/)) {
    if (fence === undefined) {
      fence = /^ {0,3}(`{3,})[^`]*$/.exec(line)?.[1]
      if (fence === undefined) outside.push(line)
    } else {
      const closing = /^ {0,3}(`{3,})\s*$/.exec(line)?.[1]
      if (closing !== undefined && closing.length >= fence.length) fence = undefined
    }
  }
  assert.isUndefined(fence)
  return outside
}

const message = (name: string, text: string) => ({
  id: "msg_01K0000000000000000000000Z" as MessageId,
  author: { kind: "user" as const, id: "usr_01K0000000000000000000000Z", name },
  createdAt: "2026-01-01T00:00:00.000Z",
  text
})
const session = (title: string) => ({
  id: "ses_01K0000000000000000000000Z" as SessionId,
  projectId: "prj_01K0000000000000000000000Z" as ProjectId,
  title
})

describe("Markdown export", () => {
  it.prop(
    "keeps its structure with any text, name and title",
    [Hostile, Hostile, Hostile],
    ([title, name, text]) => {
      const harmless = linesOutside(markdownHead(session("t")) + markdownMessage(message("n", "x")))
      const hostile = linesOutside(
        markdownHead(session(title.join(""))) + markdownMessage(message(name.join(""), text.join("")))
      )
      assert.deepStrictEqual(
        hostile.map((line) => line.replace(/^(#+) .*$/, "$1 ")),
        harmless.map((line) => line.replace(/^(#+) .*$/, "$1 "))
      )
      for (const line of hostile.filter((each) => each.startsWith("#")))
        assert.match(line, /^##? (?:\\[!-/:-@[-`{-~]|[^!-/:-@[-`{-~])*$/)
    },
    tries(300)
  )

  it("contains each text exactly", () => {
    for (const text of ["a\n```\n# b\n~~~~", "````````", "<!-- \n"])
      assert.include(markdownMessage(message("n", text)), `text\n${text}\n`)
  })
})
