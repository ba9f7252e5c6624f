/** Packed packages as the tools of the registry and the compilers of their users see them. */
import { assert, beforeAll, describe, inject, it } from "@effect/vitest"
import { globSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { linkLibrary } from "./installed.ts"
import { compilers, installTools, runTool } from "./PackageTools.ts"

const { folder, manifests } = inject("packages")
const tools = join(folder, "tools")
/** Without the tools the tests are skipped: the registry is not reachable, and npm's cache does not contain them. */
const missing = await installTools(tools)

const tarballs = globSync("{tarballs,command,template}/*.tgz", { cwd: folder })
/** Programs of SQLite and the template have no types. */
const typed = tarballs.filter((file) => !/sqlite|create/.test(file))
const tool = (name: string, ...args: ReadonlyArray<string>) =>
  runTool(process.execPath, [join(tools, "node_modules", name), ...args], tools)

describe.skipIf(missing !== undefined)("each tarball", () => {
  it.each(tarballs)("has no finding of publint: %s", async (tarball) => {
    const { code, output } = await tool("publint/src/cli.js", "run", join(folder, tarball), "--strict")
    assert.strictEqual(code, 0, output)
  })

  // Packages contain ES modules only, for Nodes that load those with `require` too. The resolution of Node 10 does not read `exports`.
  it.each(typed)("has types that every resolution finds: %s", async (tarball) => {
    const { code, output } = await tool(
      "@arethetypeswrong/cli/dist/index.js",
      join(folder, tarball),
      "--profile",
      "esm-only",
      "--format",
      "json"
    )
    assert.strictEqual(code, 0, output)
  })
})

/** A program that imports every public module. */
const program = (): string =>
  manifests
    .flatMap(({ exports, name }) =>
      Object.entries(exports)
        .filter(([, target]) => typeof target !== "string")
        .map(([path]) => `${name}/${path.slice(2)}`)
    )
    .map((address, at) => `export * as m${at} from ${JSON.stringify(address)}`)
    .join("\n")

const resolutions = {
  nodenext: { module: "nodenext" },
  bundler: { module: "esnext", moduleResolution: "bundler" }
}

describe.skipIf(missing !== undefined)("declarations", () => {
  const place = join(folder, "compiled")
  beforeAll(() => {
    mkdirSync(place)
    for (const name of ["@types/node", "undici-types"]) linkLibrary(join(folder, "node_modules"), name)
    writeFileSync(join(place, "program.ts"), `${program()}\n`)
  })

  const cases = Object.entries(compilers(tools)).flatMap(([compiler, file]) =>
    Object.entries(resolutions).map(([resolution, options]) => ({ compiler, file, resolution, options }))
  )
  it.each(cases)("compile with $compiler and the resolution $resolution", async (each) => {
    const config = join(place, `tsconfig.${each.compiler.replaceAll(" ", "-")}.${each.resolution}.json`)
    const compilerOptions = {
      ...each.options,
      target: "es2024",
      strict: true,
      skipLibCheck: false,
      noEmit: true,
      // Effect's declarations name types of the web.
      lib: ["es2024", "dom", "dom.iterable"],
      types: ["node"]
    }
    writeFileSync(config, JSON.stringify({ compilerOptions, files: ["program.ts"] }))
    const { code, output } = await runTool(process.execPath, [each.file, "-p", config], place)
    assert.deepStrictEqual([code, output], [0, ""])
  })
})
