/** The guides do what they say: each command in them is run. And every link between pages leads somewhere. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { corral } from "@corral/cli/Corral"
import { Completions } from "effect/cli"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, normalize } from "node:path"
import { fileURLToPath } from "node:url"
import { follow, longGuides, readme } from "./Guides.ts"
import { blocksOf, GuideRun } from "./GuideRun.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
const read = (name: string): string => readFileSync(join(root, name), "utf8")

/** As the pages are read on the web: a heading in lower case, without signs, a dash for each space. */
const anchorsIn = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-")
  )

/** Each command by its words, and its flags. */
const commandsOf = (
  command: Completions.CommandDescriptor,
  path: string
): ReadonlyArray<readonly [string, ReadonlyArray<string>]> =>
  command.subcommands.flatMap((each) => {
    const words = `${path}${each.name}`
    const flags = [...each.flags.flatMap(({ aliases, name }) => [name, ...aliases]), "help"]
    return [[words, flags] as const, ...commandsOf(each, `${words} `)]
  })

/** Variables that a text names, but for the beginnings of names. */
const namesIn = (text: string): ReadonlyArray<string> =>
  text.match(/\bCORRAL_[A-Z0-9_]*[A-Z0-9]\b(?!_)/g) ?? []

/** Variables of the command line, of the tests, and those that the programs of a run receive. */
const otherVariables = [
  "CORRAL_TEST_RUNTIMES_DIR",
  "CORRAL_TEST_PICTURES",
  "CORRAL_ARTIFACTS",
  "CORRAL_RUN_ID",
  "CORRAL_EDGE_ID",
  "CORRAL_SEED",
  "CORRAL_EDGE_URL",
  "CORRAL_EDGE_TOKEN_FILE",
  "CORRAL_CHROMIUM"
]

describe("guides", () => {
  it(
    "docs/start.md does what it says, and the quick start of the README in what that has started",
    {
      timeout: 240_000
    },
    () => {
      const [start, ...rest] = readme("Quick start")
      assert.strictEqual(start?.text, blocksOf(read("docs/start.md"))[0]?.text)
      return follow("start", rest)
    }
  )

  it("docs/edge.md does what it says, as one shell session in which nothing is refused", async () => {
    const run = new GuideRun(root)
    onTestFinished(() => run.close())
    const session = blocksOf(read("docs/edge.md"))
      .map(({ text }) => text)
      .join("")
      // A reader is slower than the run.
      .replace(/^edge "\$URL\/v1\/permissions\?state=pending"$/m, "until $& | grep apr_; do :; done")
    await run.run([
      { how: "service", text: "node dist/corral up --edge-only\n" },
      { how: "run", text: `cd "$HOME"\n${session}` }
    ])
  })

  it("docs/editors.md does what it says", () => follow("editors"))

  it("marks as run what is run", () => {
    const marked = pages.filter((page) => page.startsWith("docs/") && blocksOf(read(page)).length > 0)
    const run = ["start", "edge", "editors", ...longGuides].map((name) => `docs/${name}.md`)
    assert.deepStrictEqual(marked.toSorted(), [...run, "docs/zh/start.md"].toSorted())
    assert.deepStrictEqual(blocksOf(read("README.md")), [...readme("Quick start"), ...readme("One service")])
    // Pages in Chinese have the blocks that are run.
    assert.deepStrictEqual(blocksOf(read("docs/zh/start.md")), blocksOf(read("docs/start.md")))
    assert.deepStrictEqual(blocksOf(read("README.zh.md")), blocksOf(read("README.md")))
  })

  const pages = ["README.md", "README.zh.md", "CHANGELOG.md", "AGENTS.md"].concat(
    readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".md"))
      .map((name) => `docs/${name}`)
  )
  /** Code is no link, and no heading. */
  const prose = (page: string): string => read(page).replaceAll(/^```[^]*?^```$/gm, "")

  it("links to what is there, to the heading", () => {
    const anchors = new Map<string, ReadonlyArray<string>>()
    const anchorsOf = (page: string): ReadonlyArray<string> => {
      const cached = anchors.get(page) ?? anchorsIn(prose(page))
      anchors.set(page, cached)
      return cached
    }
    for (const page of pages) {
      for (const [, path = "", anchor] of prose(page).matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)/g)) {
        const target = path === "" ? page : normalize(join(dirname(page), path))
        assert.isTrue(existsSync(join(root, target)), `${page} links to ${path}`)
        if (anchor !== undefined && target.endsWith(".md"))
          assert.include(anchorsOf(target), anchor, `${page} links into ${target}`)
      }
    }
  })

  it("are all found from the index", () => {
    const index = read("docs/README.md")
    for (const page of pages) {
      // Decisions, the contract and notes on a runtime are found through their folders and pages.
      const [, name] = /^docs\/(\w[\w-]*\.md)$/.exec(page) ?? []
      if (name !== undefined && name !== "README.md") assert.include(index, `(${name}`, page)
    }
  })

  it("names commands, flags and settings that there are", () => {
    const commands = new Map(commandsOf(Completions.fromCommand(corral), ""))
    const settings = new Set([...namesIn(read("docs/configuration.md")), ...otherVariables])
    for (const page of pages.filter((page) => !/^(CHANGELOG|docs\/(adr|contract))/.test(page))) {
      const text = read(page)
      for (const name of namesIn(text)) assert.isTrue(settings.has(name), `${page} names ${name}`)
      for (const [, line = ""] of text.matchAll(
        /(?:^|`|\$ |node dist\/|npm run )corral (?:-- )?([a-z-][^`\n|<]*)/gm
      )) {
        const words = line.trim().split(/\s+/)
        const two = words.slice(0, 2).join(" ")
        const flags = commands.get(two) ?? commands.get(words[0] ?? "")
        if (words[0]?.startsWith("--") === true) continue
        assert.isDefined(flags, `${page} calls corral ${line}`)
        for (const [, flag = ""] of line.matchAll(/(?<=\s)--([a-z-]+)/g))
          assert.include(flags, flag, `${page} calls corral ${line}`)
      }
    }
  })
})
