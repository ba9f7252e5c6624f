import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { posix } from "node:path"
import { segmentsOf } from "../../src/approval/ShellCommand.ts"
import { allow, policyOf, shell, verdictOn } from "./RunPolicies.ts"
import { grantable, hostile } from "./CommandLines.ts"
import { tries } from "@corral/testing/time/Effort"

const runs = tries(150)

/** Pieces of shell in any order: mostly nonsense, often nearly a command. */
const Piece = Schema.Literals([
  ..." |&|;|||&&|\n|(|)|{|}|<|>|>>|<<E|<<<|2>&1|$(|`|'|\"|\\|$|${|}|$((|))|[[|]]|((|#|!|*|?|~|=|if|then|fi|for|in|do|done|while|case|esac".split(
    "|"
  ),
  ..."ls;rm;sh;-c;npm;test;git;push;cd;sub;a;x=1;E;.git;/;..;timeout;5;env;xargs;function;coproc;time".split(
    ";"
  ),
  "\u0000",
  "\u202e"
])
const Lines = Arbitrary.map(Arbitrary.array(Arbitrary.schema(Piece), { maxLength: 30 }), (pieces) =>
  pieces.join(" ")
)
const Texts = Arbitrary.schema(Schema.String)
const Granted = Arbitrary.schema(Schema.Literals(grantable))
const Appended = Arbitrary.schema(
  Schema.Literals([
    ...hostile.filter((line) => !/^(cd sub)?$|^#/.test(line)),
    "pwn",
    "npm test x",
    "npm test > pwn"
  ])
)
const Joint = Arbitrary.schema(
  Schema.Literals([
    " ; ",
    ";",
    " && ",
    "&&",
    " || ",
    "||",
    " | ",
    "|",
    " & ",
    "&",
    "\n",
    "\n\n",
    " ;\n",
    " |&"
  ])
)
/** Granted lines, joined, cut and mixed with pieces. */
const Mixed = Arbitrary.map(
  Arbitrary.all([Granted, Joint, Granted, Arbitrary.schema(Piece), Arbitrary.schema(Schema.Int)]),
  ([one, joint, other, piece, at]) => {
    const line = `${one}${joint}${other}`
    const cut = Math.abs(at) % line.length
    return at % 2 === 0 ? `${line.slice(0, cut)}${piece}${line.slice(cut)}` : line
  }
)
const Hostile = Arbitrary.schema(Schema.Literals(hostile))

/** Everything that can be granted is. */
const policy = policyOf()
for (const each of grantable) allow(policy, shell(each), "run")
/** `/ws` and `.` are the same folder. */
const folderOf = (cwd: string): string => (cwd === "" ? "" : posix.resolve("/ws", cwd))
const parts = new Set(
  grantable
    .flatMap(segmentsOf)
    .map(({ assignments, cwd = "", input, words, writes }) =>
      JSON.stringify([assignments, words, folderOf(cwd), input, writes])
    )
)

describe("Any command line", () => {
  it.prop(
    "is read without a throw, in bounds, and exactly or not at all",
    [Lines, Texts],
    ([line, text]) => {
      for (const each of [line, text, `${text}${line}`]) {
        const segments = segmentsOf(each)
        assert.isAtMost(segments.length, 64)
        for (const { exact, inner, opaque, words } of segments) {
          if (exact) assert.isTrue(opaque === undefined && words.length > 0 && inner.length > 0)
        }
      }
    },
    runs
  )

  it.prop(
    "that is asked for is still asked for with something added, before or after",
    [Lines, Lines, Granted],
    ([line, more, granted]) => {
      if (verdictOn(policy, shell(line))._tag === "Allow") return
      // Where the added text opens a quote or a comment, the line is another one: each part is on separate lines.
      if (segmentsOf(line).length === 0 || segmentsOf(`${line}\n${more}`).length <= segmentsOf(line).length)
        return
      assert.strictEqual(verdictOn(policy, shell(`${line}\n${more}`))._tag, "Ask")
      assert.strictEqual(verdictOn(policy, shell(`${line} && ${granted}`))._tag, "Ask")
    },
    runs
  )

  it.prop(
    "that is allowed is asked for with anything appended that is not allowed itself",
    [Granted, Appended, Joint],
    ([granted, more, joint]) => {
      assert.strictEqual(verdictOn(policy, shell(granted))._tag, "Allow")
      // After a here-document or a comment only a new line appends.
      const line = /<<|#/.test(granted) ? `${granted}\n${more}` : `${granted}${joint}${more}`
      const { length } = segmentsOf(granted)
      if (segmentsOf(line).length > length && verdictOn(policy, shell(more))._tag === "Ask")
        assert.strictEqual(verdictOn(policy, shell(line))._tag, "Ask", line)
    },
    tries(400)
  )

  it.prop(
    "is allowed only where each of its parts is, by itself and where it stands",
    [Mixed],
    ([line]) => {
      if (verdictOn(policy, shell(line))._tag !== "Allow") return
      for (const { assignments, cwd = "", input, words, writes } of segmentsOf(line)) {
        if (words[0] === "cd") continue
        const isExpected = parts.has(JSON.stringify([assignments, words, folderOf(cwd), input, writes]))
        assert.isTrue(isExpected, `${line}: ${words.join(" ")}`)
      }
    },
    tries(800)
  )

  it.prop(
    "that was granted says nothing of one with another program",
    [Granted, Granted],
    ([one, other]) => {
      const policy = policyOf()
      allow(policy, shell(one), "run")
      const expected = new Set(segmentsOf(one).map(({ words }) => JSON.stringify(words)))
      const isNew = segmentsOf(other).some(
        ({ words }) => words[0] !== "cd" && !expected.has(JSON.stringify(words))
      )
      if (isNew) assert.strictEqual(verdictOn(policy, shell(other))._tag, "Ask")
    },
    runs
  )

  it.prop(
    "is never allowed in read_only and plan, regardless of grants",
    [Granted, Hostile, Lines],
    (lines) => {
      for (const mode of ["read_only", "plan"] as const) {
        const policy = policyOf({
          mode,
          configured: [{ action: "shell", command: ["npm", "test"], prefix: true }]
        })
        for (const line of lines) {
          allow(policy, shell(line), "run")
          assert.strictEqual(verdictOn(policy, shell(line))._tag, "Deny")
        }
      }
    },
    runs
  )
})
