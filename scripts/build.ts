/**
 * Bundles each service into one folder of `dist` that starts with `node dist/<service>`.
 *
 * Everything but the native SQLite binding is bundled. A folder holds the launcher (`index.js`), the service (`main.mjs`), the store's
 * thread (`writer.mjs`) and the scripted runtime's program (`scripted.mjs`); they find each other by being neighbours.
 */
import { build, type BuildOptions } from "esbuild"
import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))

/** Services by folder of `dist`, and where each begins. One whose sources are not there yet is left out. */
const services = {
  edge: "packages/edge/src/main.ts",
  corral: "packages/cli/src/main.ts"
}

/** CommonJS modules inside the bundles ask for Node's own modules by `require`. */
const banner = `import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);`

const options = (folder: string, main: string): BuildOptions => ({
  absWorkingDir: root,
  entryPoints: { main, writer: "packages/edge/src/store/Writer.ts" },
  outdir: folder,
  outExtension: { ".js": ".mjs" },
  chunkNames: "chunks/[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node22",
  external: ["better-sqlite3"],
  sourcemap: true,
  sourcesContent: false,
  minifySyntax: true,
  treeShaking: true,
  legalComments: "none",
  banner: { js: banner },
  logLevel: "warning"
})

const bundle = async (service: string, main: string): Promise<void> => {
  const folder = `${root}dist/${service}`
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  await build(options(folder, main))
  copyFileSync(`${root}scripts/launcher.cjs`, `${folder}/index.js`)
  copyFileSync(`${root}packages/adapters/runtime/scripted.mjs`, `${folder}/scripted.mjs`)
}

const started = performance.now()
const present = Object.entries(services).filter(([, main]) => existsSync(`${root}${main}`))
mkdirSync(`${root}dist`, { recursive: true })
// The launchers are CommonJS, for Nodes that know no ES modules.
writeFileSync(`${root}dist/package.json`, `${JSON.stringify({ private: true, type: "commonjs" })}\n`)
await Promise.all(present.map(([service, main]) => bundle(service, main)))
const names = present.map(([service]) => `dist/${service}`).join(", ")
console.error(`built ${names} in ${Math.round(performance.now() - started)} ms`)
