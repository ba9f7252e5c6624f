/** Installed packages match the lock file by hash, in the repository and in `dist`. */
import { assert, describe, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { packageFolderOf } from "./Notices.ts"

const root = fileURLToPath(new URL("..", import.meta.url))

interface Entry {
  readonly name?: string
  readonly version?: string
  readonly integrity?: string
  readonly link?: true
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}
const lockOf = (path: string): Readonly<Record<string, Entry>> =>
  JSON.parse(readFileSync(root + path, "utf8")).packages
const packagesOf = (path: string) =>
  Object.entries(lockOf(path)).filter(([place, { link }]) => place.includes("node_modules/") && link !== true)

describe("The lock file", () => {
  it("has a hash for every package", () => {
    const without = packagesOf("package-lock.json").filter(([, { integrity }]) => integrity === undefined)
    assert.deepStrictEqual(without, [])
  })

  it("names no registry", () => {
    assert.notMatch(readFileSync(`${root}package-lock.json`, "utf8"), /"resolved": "(?!packages\/)/)
  })
})

describe("dist", () => {
  it("has a lock file with a hash for everything, of the versions that were tested", () => {
    const [repository, dist] = [lockOf("package-lock.json"), lockOf("dist/package-lock.json")]
    const packages = packagesOf("dist/package-lock.json")
    assert.isAbove(packages.length, 5)
    for (const [place, { integrity, version }] of packages) {
      assert.isString(integrity, place)
      assert.deepStrictEqual([version, integrity], [repository[place]?.version, repository[place]?.integrity])
    }
    const manifest = JSON.parse(readFileSync(`${root}dist/package.json`, "utf8"))
    const { dependencies, optionalDependencies } = manifest
    assert.deepInclude({ ...dist[""] }, { dependencies, optionalDependencies })
    const wanted = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })
    for (const name of wanted) assert.isDefined(dist[`node_modules/${name}`], name)
  })

  it("has the licence of Corral and the licence text of each bundled package", () => {
    assert.strictEqual(readFileSync(`${root}dist/LICENSE`, "utf8"), readFileSync(`${root}LICENSE`, "utf8"))
    const notices = readFileSync(`${root}dist/THIRD-PARTY-NOTICES.txt`, "utf8")
    const folders = new Set<string>()
    for (const map of globSync("dist/**/*.map", { cwd: root })) {
      const { sources }: { readonly sources: ReadonlyArray<string> } = JSON.parse(
        readFileSync(root + map, "utf8")
      )
      for (const source of sources) {
        const folder = packageFolderOf(source)
        if (folder !== undefined) folders.add(folder.slice(folder.indexOf("node_modules/")))
      }
    }
    assert.isAbove(folders.size, 50)
    // The console has no source maps.
    for (const folder of [...folders, "node_modules/react", "node_modules/react-markdown"]) {
      const { name, version } = JSON.parse(readFileSync(`${root}${folder}/package.json`, "utf8"))
      assert.include(notices, `\n${name} ${version} (`)
    }
    assert.include(notices, "gitleaks")
    assert.notMatch(notices, /\n\n\n-{80}/)
  })
})
