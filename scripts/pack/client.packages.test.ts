/** The packed client in a browser: what a page loads of it. */
import { assert, describe, inject, it } from "@effect/vitest"
import { build } from "esbuild"
import { gzipSync } from "node:zlib"

/** Bundles a module as a page would. An import of Node fails the build. */
const bundled = async (module: string) => {
  const { metafile, outputFiles } = await build({
    stdin: { contents: `export * from ${JSON.stringify(module)}`, resolveDir: inject("packages").folder },
    bundle: true,
    minify: true,
    platform: "browser",
    format: "esm",
    metafile: true,
    write: false
  })
  return { bytes: outputFiles[0]?.contents ?? new Uint8Array(), inputs: Object.keys(metafile.inputs) }
}

describe("@corral/client in a browser", () => {
  it.each(["Edge", "Hub"])("%s contains no code of Effect and of Node, and is small", async (face) => {
    const { bytes, inputs } = await bundled(`@corral/client/${face}`)
    assert.deepStrictEqual(
      inputs.filter((path) => path.includes("node_modules/effect/")),
      []
    )
    const size = gzipSync(bytes).length
    assert.isAbove(size, 2_000)
    // 12,690 bytes for a Hub, of which some 350 name an action as a person edited it, 200 show both ends of a cut output, and 230 are the endpoints of
    // presets, preferences, updates of bindings, changes, groups of
    // candidates, usage and limits.
    assert.isBelow(size, 12_750)
  })

  it.each(["EdgeEffects", "HubEffects"])("%s builds without Node", async (face) => {
    const { inputs } = await bundled(`@corral/client/effect/${face}`)
    assert.isNotEmpty(inputs)
  })
})
