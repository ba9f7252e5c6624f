/** The maps and the lists of commands in AGENTS.md, README.md and CONTRIBUTING.md are true and complete. */
import { assert, describe, it } from "@effect/vitest"
import { builtIn } from "@corral/adapters/Registry"
import { existsSync, globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { modulesOf } from "./walls/Modules.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), "utf8")
const { scripts }: { scripts: Readonly<Record<string, string>> } = JSON.parse(read("package.json"))

const pages = ["AGENTS.md", "README.md", "CONTRIBUTING.md", ...globSync("docs/**/*.md", { cwd: root })]
  .filter((page) => !page.startsWith("docs/contract/"))
  .map((page) => [page, read(page)] as const)

/** First cells of the table below the heading `Map`. */
const mapOf = (page: string): ReadonlyArray<string> => {
  const [, map = ""] = read(page).split(/^## Map$/m)
  return [...(map.split(/^## /m)[0] ?? "").matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, path = ""]) => path)
  )
}

const trackedFolders = [
  ...globSync("packages/*/package.json", { cwd: root }).map((path) => path.replace("/package.json", "")),
  ...globSync("*/", { cwd: root }).map((path) => path.replace(/\/$/, ""))
].filter((path) => !["node_modules", "packages", "dist"].includes(path))

describe.each(["AGENTS.md", "README.md"])("the map of %s", (page) => {
  const map = mapOf(page)

  it("names each package and each folder", () => {
    assert.deepStrictEqual(
      trackedFolders.filter((path) => !map.includes(path)),
      []
    )
  })

  it("names what there is", () => {
    assert.deepStrictEqual(
      map.filter((path) => !existsSync(join(root, path))),
      []
    )
  })
})

/** Folders named in the row of a package, such as `http/`. */
it("the map of AGENTS.md names folders of packages that there are", () => {
  const rows = [...read("AGENTS.md").matchAll(/^\| `(packages\/[^`]+)` \| (.*) \|$/gm)]
  const missing = rows.flatMap(([, path = "", text = ""]) =>
    [...text.matchAll(/`([\w-]+\/)`/g)]
      .map(([, folder = ""]) => `${path}/src/${folder}`)
      .filter((folder) => !existsSync(join(root, folder)))
  )
  assert.isAbove(rows.length, 8)
  assert.deepStrictEqual(missing, [])
})

describe("the order of the Edge's folders", () => {
  const [, written = ""] = /`(config ← [^`]+)`/.exec(read("AGENTS.md")) ?? []
  const layers = written.split(" ← ").map((layer) => layer.replaceAll(/[{} ]/g, "").split(","))
  const layerOf = (folder: string): number => layers.findIndex((layer) => layer.includes(folder))
  const folderOf = (path: string): string | undefined => /^packages\/edge\/src\/([^/]+)\//.exec(path)?.[1]

  it("has each folder once", () => {
    const folders = globSync("packages/edge/src/*/", { cwd: root }).map((path) => path.split("/")[3] ?? "")
    assert.sameMembers(layers.flat(), folders)
  })

  it("is that of the imports, types included", () => {
    const against = modulesOf(root, ["packages/edge/src/**/*.ts"]).flatMap(({ imports, path }) => {
      const from = folderOf(path)
      if (from === undefined) return []
      return imports.filter((imported) => {
        const to = folderOf(imported)
        return to !== undefined && to !== from && layerOf(to) >= layerOf(from)
      })
    })
    assert.deepStrictEqual(against, [])
  })
})

describe("commands", () => {
  const named = pages.flatMap(([page, text]) =>
    [...text.matchAll(/\bnpm (?:run (?:--silent )?([\w:]+)|(start|test)\b)/g)].map(
      ([, script = "", short = ""]) => ({ page, script: script === "" ? short : script })
    )
  )

  it("named in pages are scripts of the package", () => {
    assert.isAbove(named.length, 100)
    // Examples of commands that a run requests, and a script of the template of an adapter.
    const examples = new Set(["x", "db:reset", "expected"])
    assert.deepStrictEqual(
      named.filter(({ script }) => scripts[script] === undefined && !examples.has(script)),
      []
    )
  })

  it("are all in AGENTS.md", () => {
    const inAgents = new Set(named.filter(({ page }) => page === "AGENTS.md").map(({ script }) => script))
    assert.deepStrictEqual(
      Object.keys(scripts).filter((script) => !inAgents.has(script)),
      []
    )
  })

  it("name files of the repository", () => {
    const missing = pages.slice(0, 3).flatMap(([page, text]) =>
      [...text.matchAll(/(?:vitest run|node) (?:--config \S+ )?((?:packages|scripts|bench)\/[\w./-]+)/g)]
        .map(([, path = ""]) => path)
        .filter((path) => !existsSync(join(root, path)))
        .map((path) => `${page}: ${path}`)
    )
    assert.deepStrictEqual(missing, [])
  })

  it("take paths of the repository: a script starts a program that there is", () => {
    const programs = Object.values(scripts).flatMap((script) =>
      [...script.matchAll(/\bnode ((?:scripts|bench)\/\S+)/g)].map(([, path = ""]) => path)
    )
    assert.isAbove(programs.length, 10)
    assert.deepStrictEqual(
      programs.filter((path) => !existsSync(join(root, path))),
      []
    )
  })
})

it("README.md names each built-in adapter once, and no other", () => {
  const rows = [...read("README.md").matchAll(/^\| Adapters? (`[^|]*) \| ([^|]*) \|$/gm)]
  const ids = rows.flatMap(([, cell = "", text = ""]) =>
    [...`${cell} ${text}`.matchAll(/`([\w-]+)`/g)].map(([, id = ""]) => id)
  )
  assert.sameMembers(ids, [...builtIn({ node: "/node", scriptedProgram: "/scripted" }).keys()])
})
