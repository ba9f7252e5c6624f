/** `docs/contract/sentences.md` lists every sentence of the contract with tests that there are, and each fault of the page is found. */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { type Evidence, MAX_LABELS, sentenceProblems, sentencesOf } from "./ContractSentences.ts"
import { testTitlesOf } from "./TestTitles.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
const read = (name: string): string => readFileSync(join(root, name), "utf8")
const contract = read("docs/contract/CONTRACT.md")
const page = read("docs/contract/sentences.md")

const cache = new Map<string, ReadonlySet<string>>()
const evidence: Evidence = {
  decisions: new Set(
    ["", "-2", "-3"].flatMap((round) =>
      [...read(`docs/contract/DECISIONS${round}.md`).matchAll(/^\| (.+?) \| /gm)].map(([, cell = ""]) => cell)
    )
  ),
  titlesOf: (path) => {
    if (!existsSync(join(root, path))) return undefined
    const titles = cache.get(path) ?? testTitlesOf(path, read(path))
    cache.set(path, titles)
    return titles
  }
}
const problemsOf = (changed: string): ReadonlyArray<string> => sentenceProblems(contract, changed, evidence)

describe("the sentences of the contract", () => {
  it("are listed once each, with tests that there are or a label", () => {
    assert.isAbove(sentencesOf(contract).length, 180)
    assert.deepStrictEqual(problemsOf(page), [])
  })

  it.each(sentencesOf(contract).map(({ text }) => text))(
    "are found missing, changed and repeated: %s",
    (text) => {
      const line = `\n- ${text}\n`
      assert.include(page, line)
      assert.isNotEmpty(problemsOf(page.replace(line, () => "\n")), "missing")
      assert.isNotEmpty(problemsOf(page.replace(line, () => `\n- ${text.slice(0, -1)}\n`)), "changed")
      assert.isNotEmpty(problemsOf(page.replace(line, () => `${line}- ${text}\n`)), "repeated")
    }
  )

  it.each([
    [
      "a sentence under another heading",
      "\n- It is a single document.",
      "\n## Other\n\n- It is a single document."
    ],
    [
      "a file that does not exist",
      "packages/domain/test/contract.test.ts",
      "packages/domain/test/contracts.test.ts"
    ],
    ["a title that does not exist", '"error table"', '"error tables"'],
    ["a title that is only a text of the file", '"error table"', '"field"'],
    [
      "a file that is no test",
      "packages/domain/test/contract.test.ts",
      "packages/domain/test/ContractDocument.ts"
    ],
    ["another label", "Label: about the document.", "Label: obvious."],
    ["a label without a reason", /Label: about the document\. .*/, "Label: about the document."],
    ["a row that no decision has", /DECISIONS row "[^"…]+"/, 'DECISIONS row "what is left"'],
    ["sentences without evidence", /\nTests: .*/, ""],
    ["evidence without sentences", "\nTests: ", '\nTests: `scripts/prose.test.ts` "pages".\n\nTests: ']
  ] as ReadonlyArray<readonly [string, string | RegExp, string]>)("are found with %s", (_, before, after) => {
    const changed = page.replace(before, () => after)
    assert.notStrictEqual(changed, page)
    assert.isNotEmpty(problemsOf(changed))
  })

  it(`have at most ${MAX_LABELS} labels`, () => {
    const labelled = page.replaceAll(/^Tests: .*/gm, "Label: about the document. Nothing else.")
    assert.include(problemsOf(labelled).at(-1), `more than ${MAX_LABELS}`)
  })
})

describe("testTitlesOf", () => {
  it("are the texts of tests and groups, of each form, and no other texts", () => {
    const source = [
      'describe("a group", { timeout: 1 }, () => {',
      '  it("a test", () => assert.include("a text", "x"))',
      '  it.each([["a case"]])("each %s", () => {})',
      "  it.effect(`of ${name}`, () => {})",
      "})"
    ].join("\n")
    assert.deepStrictEqual([...testTitlesOf("x.test.ts", source)].toSorted(), [
      "a group",
      "a test",
      "each %s",
      "of ${name}"
    ])
  })
})
