/** Libraries of the services load without a word on a Node that is not an LTS release: what they print would be the first lines of `corral up`. */
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const services = ["service", "agent-host", "edge", "hub", "gateway", "cli"]

const dependenciesOf = (name: string): ReadonlyArray<string> => {
  const { dependencies = {} }: { readonly dependencies?: Readonly<Record<string, string>> } = JSON.parse(
    readFileSync(join(root, "packages", name, "package.json"), "utf8")
  )
  return Object.keys(dependencies).filter((library) => !library.startsWith("@corral/"))
}

/** Loads the libraries, one after the other; the one of the development sign-in as the Hub does. */
const loading = (libraries: ReadonlyArray<string>): string => `
  for (const library of ${JSON.stringify(libraries)}) await import(library).catch(() => undefined)
  const { providerLibrary } = await import("./packages/hub/src/signin/DevelopmentProvider.ts")
  const { Effect } = await import("effect")
  await Effect.runPromise(providerLibrary)
`

const PROVIDER = "oidc-provider"
const NOT_LTS = `data:text/javascript,Object.defineProperty(process,"release",{value:{name:"node"}})`

describe("a Node that is not an LTS release", () => {
  const outputOf = (code: string) => {
    const args = ["--import", NOT_LTS, "--input-type=module", "--eval", code]
    const { status, stderr, stdout } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" })
    return { status, output: stdout + stderr }
  }

  it("loads the libraries of the services without output", () => {
    const libraries = [...new Set(services.flatMap(dependenciesOf))].filter((name) => name !== PROVIDER)
    assert.isAbove(libraries.length, 10)
    assert.deepStrictEqual(outputOf(loading(libraries)), { status: 0, output: "" })
  })

  it("is one that a library warns about", () =>
    assert.include(outputOf(`await import("${PROVIDER}")`).output, "Unsupported runtime"))

  it("has the library of the development sign-in in one module only", () => {
    const users = globSync("packages/*/src/**/*.ts", { cwd: root }).filter((path) =>
      /import\("oidc-provider"\)/.test(readFileSync(join(root, path), "utf8"))
    )
    assert.deepStrictEqual(users, ["packages/hub/src/signin/DevelopmentProvider.ts"])
  })
})
