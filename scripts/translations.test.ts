/**
 * The Chinese pages are complete: each has the headings, tables, blocks, links, names and figures of its English page, part by part. The
 * status pages repeat the contract in both languages.
 */
import { assert, describe, it } from "@effect/vitest"
import { type Layer, layerNames, layerStatus } from "@corral/domain/http/Health"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, normalize, relative } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const read = (page: string): string => readFileSync(join(root, page), "utf8")

const translated = [
  "README.md",
  "docs/start.md",
  "docs/concepts.md",
  "docs/console.md",
  "docs/chat-platforms.md",
  "docs/status.md"
]
const chineseOf = (page: string): string =>
  page === "README.md" ? "README.zh.md" : page.replace("docs/", "docs/zh/")
const pairs = translated.map((page) => [page, chineseOf(page)] as const)

interface Part {
  readonly level: number
  readonly rows: ReadonlyArray<number>
  readonly items: number
  readonly blocks: ReadonlyArray<string>
  readonly code: ReadonlyArray<string>
  readonly links: ReadonlyArray<string>
  readonly figures: ReadonlyArray<string>
}

const matches = (text: string, pattern: RegExp): ReadonlyArray<string> =>
  [...text.matchAll(pattern)].map(({ 0: whole, 1: group }) => group ?? whole)

/** A link as a path of the repository: of a translated page in English, and without the place in it, whose name is translated. */
const targetOf = (page: string, link: string): string => {
  if (/^\w+:/.test(link)) return link
  const path = link.replace(/#.*$/, "")
  const target = path === "" ? page : normalize(join(dirname(page), path))
  // Pictures are those of the console in the same language.
  return pairs.find(([, chinese]) => chinese === target)?.[0] ?? target.replace(/-zh\.png$/, "-light.png")
}

/** The parts of a page, each below one heading. A link to the other language is none of them. */
const partsOf = (page: string, text: string): ReadonlyArray<Part> => {
  const blocks: Array<string> = []
  const plain = text.replaceAll(/^```[^]*?^```$/gm, (block) => `⟦${blocks.push(block) - 1}⟧`)
  const parts = plain.replace(/^\[(?:中文|English)\]\([^)]+\)$/m, "").split(/^(?=#+ )/m)
  return parts.map((part) => {
    const prose = part.replaceAll(/`[^`\n]+`/g, "").replaceAll(/\]\([^)]*\)|<[^>]*>|⟦\d+⟧/g, "")
    return {
      level: /^#*/.exec(part)?.[0].length ?? 0,
      rows: matches(part, /^\|.*\|$/gm).map((row) => row.split(/(?<!\\)\|/).length),
      items: matches(part, /^(?:- |\d+\. )/gm).length,
      blocks: matches(part, /⟦(\d+)⟧/g).map((i) => blocks[Number(i)] ?? ""),
      code: matches(part, /`([^`\n]+)`/g).toSorted(),
      links: matches(part, /\]\(([^)\s]+)\)/g)
        .map((link) => targetOf(page, link))
        .toSorted(),
      figures: matches(prose.replaceAll(/^\d+\. /gm, ""), /\d[\d,.:]*\d|\d/g).toSorted()
    }
  })
}

/** What the Chinese page has that differs, by the heading of its part. */
const differences = (page: string, english: string, chinese: string): ReadonlyArray<string> => {
  const [expected, found] = [partsOf(page, english), partsOf(chineseOf(page), chinese)]
  if (expected.length !== found.length) return [`${found.length} parts instead of ${expected.length}`]
  return expected.flatMap((part, i) =>
    (Object.keys(part) as ReadonlyArray<keyof Part>).flatMap((field) => {
      const [wanted, actual] = [part[field], found[i]?.[field]].map((value) => JSON.stringify(value))
      return wanted === actual ? [] : [`part ${i}, ${field}: ${actual} instead of ${wanted}`]
    })
  )
}

describe("the Chinese pages", () => {
  it.each(pairs)("have the headings, tables and blocks of the English pages: %s", (page, chinese) => {
    assert.deepStrictEqual(differences(page, read(page), read(chinese)), [])
  })

  it.each(pairs)("link to %s, and back", (page, chinese) => {
    assert.include(read(page), `\n[中文](${relative(dirname(page), chinese)})\n`)
    assert.include(read(chinese), `\n[English](${relative(dirname(chinese), page)})\n`)
  })

  it("are all pages in Chinese", () => {
    const found = readdirSync(join(root, "docs/zh")).map((name) => `docs/zh/${name}`)
    assert.sameMembers(
      [...found, "README.zh.md"],
      pairs.map(([, chinese]) => chinese)
    )
    assert.isTrue(existsSync(join(root, "README.zh.md")))
  })

  it.each(pairs)("have Chinese headings, and no paragraph in another language: %s", (_, chinese) => {
    const lines = read(chinese)
      .replaceAll(/^```[^]*?^```$/gm, "")
      .split("\n")
    const latin = lines.filter(
      (line) =>
        /[a-z]{3,} [a-z]{2,} [a-z]{2,}/.test(
          line.replaceAll(/`[^`]+`|\]\([^)]*\)|\([^)]*\.md[^)]*\)/g, "")
        ) && !/[\u4e00-\u9fff]/.test(line)
    )
    assert.deepStrictEqual(latin, [])
  })

  it.each(pairs)("break no line within a paragraph, which would show a space: %s", (_, chinese) => {
    const prose = read(chinese).replaceAll(/^```[^]*?^```$/gm, "")
    assert.deepStrictEqual(matches(prose, /^(?![#|!\n]).*\n(?!\n|- |\d+\. |[#|]).+/gm), [])
  })

  it.each(pairs)("have the punctuation of Chinese: %s", (_, chinese) => {
    const prose = read(chinese)
      .replaceAll(/^```[^]*?^```$/gm, "")
      .replaceAll(/`[^`\n]+`/g, "x")
      .replaceAll(/\]\([^)]*\)/g, "]")
    assert.deepStrictEqual(
      matches(prose, /.{0,10}[\u4e00-\u9fff][,;:?!()].{0,5}|.{0,5}[,;?!()][\u4e00-\u9fff].{0,10}/g),
      []
    )
  })

  it.each([
    ["a missing heading", /^## .*\n/m, ""],
    ["a heading of another level", /^## /m, "### "],
    ["a changed block", "npm start", "npm run start"],
    ["a missing row", /^\| .*\|\n(?!\|-)/m, ""],
    ["another setting", "`sample`", "`simple`"],
    ["another link", /\]\(docs\/zh\/start\.md\)/, "](docs/zh/concepts.md)"],
    ["another figure", "7400`", "7401`"],
    ["a missing item", /^- .*\n/m, ""]
  ] as ReadonlyArray<readonly [string, string | RegExp, string]>)("are found with %s", (_, before, after) => {
    const changed = read("README.zh.md").replace(before, after)
    assert.notStrictEqual(changed, read("README.zh.md"))
    assert.isNotEmpty(differences("README.md", read("README.md"), changed))
  })
})

/** Rows of all tables, with the head of each. */
const rowsOf = (text: string): ReadonlyArray<string> => matches(text, /^\| (?!-).*\|$/gm)

describe("the status pages", () => {
  const [, tables = ""] =
    /^Contract layers:$([^]*)^Complete OpenAPI/m.exec(read("docs/contract/CONTRACT.md")) ?? []

  it("repeat the tables of the contract", () => {
    assert.lengthOf(rowsOf(tables), 13)
    assert.deepStrictEqual(rowsOf(read("docs/status.md")), rowsOf(tables))
  })

  it("state the status that the services report", () => {
    const layers = rowsOf(tables)
      .slice(1, 6)
      .map((row) => row.split("|").map((cell) => cell.trim()))
    assert.deepStrictEqual(
      layers.map(([, name, , , status]) => [name, status]),
      (Object.keys(layerStatus) as ReadonlyArray<Layer>).map((layer) => [
        layerNames[layer],
        layerStatus[layer]
      ])
    )
  })

  it("state the same status in Chinese", () => {
    const status = { "in development": "开发中", "contract shaped": "契约已成形" }
    const lastCells = (rows: ReadonlyArray<string>) =>
      rows.slice(1, 6).map((row) => row.split("|").at(-2)?.trim() ?? "")
    assert.deepStrictEqual(
      lastCells(rowsOf(read("docs/zh/status.md"))),
      lastCells(rowsOf(tables)).map((each) => status[each as keyof typeof status])
    )
  })
})
