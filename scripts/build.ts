/**
 * Bundles each service into one folder of `dist` that starts with `node dist/<service>`.
 *
 * Everything but the native SQLite binding and the PostgreSQL programs is bundled. A folder holds the launcher (`index.js`) and the service
 * (`main.mjs`), an Edge's also the store's thread (`writer.mjs`) and the scripted runtime's program (`scripted.mjs`); they find each
 * other by being neighbours. A Hub's also holds the console that it serves, in `console/`.
 */
import { build, type BuildOptions } from "esbuild"
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { build as buildPages } from "vite"

const root = fileURLToPath(new URL("..", import.meta.url))

/** What an Edge starts beside itself. */
const edgeParts = {
  writer: "packages/edge/src/store/Writer.ts",
  scripted: "packages/adapters/runtime/scripted.mjs"
}

/** Services by folder of `dist`, and where the parts of each begin. */
const services = {
  edge: { main: "packages/edge/src/main.ts", ...edgeParts },
  hub: { main: "packages/hub/src/main.ts" },
  gateway: { main: "packages/gateway/src/main.ts" },
  corral: { main: "packages/cli/src/main.ts", ...edgeParts }
}

/** CommonJS modules inside the bundles ask for Node's own modules by `require`. */
const banner = `import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);`

/** Megabytes that the libraries would load on demand, for things that no service of ours does: API browsers, another HTTP client. */
const unused = ["./internal/httpApiScalar.js", "./internal/httpApiSwagger.js", "./Undici.js"]

const options = (folder: string, entryPoints: Readonly<Record<string, string>>): BuildOptions => ({
  absWorkingDir: root,
  entryPoints,
  outdir: folder,
  outExtension: { ".js": ".mjs" },
  // Chunks are neighbours of the entries: sources find the files beside them by their own address.
  chunkNames: "[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node22",
  external: ["better-sqlite3", ...unused],
  sourcemap: true,
  sourcesContent: false,
  minifySyntax: true,
  // The text of the program stays in memory, three megabytes of it spaces. Lines stay short, for stack traces.
  minifyWhitespace: true,
  lineLimit: 120,
  treeShaking: true,
  // The identity provider for development finds its records by the names of their classes.
  keepNames: /dist\/(hub|corral)\b/.test(folder),
  legalComments: "none",
  // CommonJS modules that ask where they are: beside what they were bundled into.
  define: { __dirname: "import.meta.dirname" },
  banner: { js: banner },
  logLevel: "warning"
})

/** The console's files, beside the Hub that serves them. */
const pages = (folder: string) =>
  buildPages({
    configFile: `${root}packages/console/vite.config.ts`,
    build: { outDir: `${folder}/console` }
  })

/** Built beside and renamed into place: what runs `dist/<service>` meanwhile finds the old one or the new one, whole. */
const bundle = async (service: string, entryPoints: Readonly<Record<string, string>>): Promise<void> => {
  const folder = `${root}dist/${service}`
  const [fresh, stale] = [`${folder}.${process.pid}.new`, `${folder}.${process.pid}.old`]
  await Promise.all([build(options(fresh, entryPoints)), ...(service === "hub" ? [pages(fresh)] : [])])
  copyFileSync(`${root}scripts/launcher.cjs`, `${fresh}/index.js`)
  if (existsSync(folder)) renameSync(folder, stale)
  renameSync(fresh, folder)
  rmSync(stale, { recursive: true, force: true })
}

interface Manifest {
  readonly version: string
  readonly license: string
  readonly dependencies: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
}

const manifest = (folder: string): Manifest =>
  JSON.parse(readFileSync(`${root}${folder}package.json`, "utf8"))

/** What `dist` needs where it is alone: `npm install --omit=dev` in it. The launchers are CommonJS, for Nodes that know no ES modules. */
const distribution = () => {
  const { license, optionalDependencies: nodes, version } = manifest("")
  return {
    name: "corral",
    version,
    private: true,
    license,
    type: "commonjs",
    bin: { corral: "corral/index.js" },
    engines: { node: ">=20.20" },
    dependencies: { "better-sqlite3": manifest("packages/edge/").dependencies["better-sqlite3"] },
    // A Node for Linux, and a PostgreSQL for Hubs that are given none.
    optionalDependencies: { ...nodes, ...manifest("packages/hub/").optionalDependencies }
  }
}

const started = performance.now()
mkdirSync(`${root}dist`, { recursive: true })
writeFileSync(`${root}dist/package.json`, `${JSON.stringify(distribution(), undefined, 2)}\n`)
await Promise.all(Object.entries(services).map(([service, entryPoints]) => bundle(service, entryPoints)))
const names = Object.keys(services)
  .map((service) => `dist/${service}`)
  .join(", ")
console.error(`built ${names} in ${Math.round(performance.now() - started)} ms`)
