/**
 * Bundles each service into one folder of `dist` that starts with `node dist/<service>`.
 *
 * Everything but the native SQLite binding and the PostgreSQL programs is bundled. A folder holds the launcher (`index.js`) and the service,
 * an Edge's also the store's thread (`writer.cjs`) and the scripted runtime's program (`scripted.mjs`); they find each other by being
 * neighbours. A Hub's also holds the console that it serves, in `console/`.
 *
 * A service is one CommonJS file (`main.cjs`): Node starts that with a fifth less work than ES modules (ADR 25). The command line is ES
 * modules in chunks (`main.mjs`), because most commands need few of them.
 */
import { build, type BuildOptions, type Plugin } from "esbuild"
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { basename, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { build as buildPages } from "vite"
import { distLock, type Lock } from "./DistLock.ts"
import { namespaceImports } from "./NamespaceImports.ts"
import { noticesOf, packageFolderOf } from "./Notices.ts"

const root = fileURLToPath(new URL("..", import.meta.url))

interface Service {
  readonly main: string
  readonly inChunks?: boolean
  /** What it starts beside itself, by file name. */
  readonly parts?: Readonly<Record<string, string>>
}

const edgeParts = {
  "writer.cjs": "packages/edge/src/store/Writer.ts",
  "scripted.mjs": "packages/adapters/runtime/scripted.mjs"
}

/** By folder of `dist`. */
const services: Readonly<Record<string, Service>> = {
  edge: { main: "packages/edge/src/main.ts", parts: edgeParts },
  hub: { main: "packages/hub/src/main.ts" },
  gateway: { main: "packages/gateway/src/main.ts" },
  corral: { main: "packages/cli/src/main.ts", inChunks: true, parts: edgeParts }
}

/** Megabytes that the libraries would load on demand, for things that no service of ours does: API browsers, another HTTP client. */
const unused = ["./internal/httpApiScalar.js", "./internal/httpApiSwagger.js", "./Undici.js"]

/**
 * A library that loads a bundled module on demand, for responses that no service asks for. As an import it would wrap the module and all
 * that it needs, most of Effect, in functions from which unused code cannot be dropped.
 */
const neverLoaded: Plugin = {
  name: "never loaded",
  setup: ({ onResolve }) => {
    onResolve({ filter: /^\.\/internal\/upgrade\.js$/ }, ({ kind, path }) =>
      kind === "dynamic-import" ? { path, external: true } : undefined
    )
  }
}

const common: BuildOptions = {
  absWorkingDir: root,
  bundle: true,
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
  legalComments: "none",
  logLevel: "warning"
}

const commonJs: BuildOptions = {
  ...common,
  format: "cjs",
  define: { "import.meta.url": "__address" },
  banner: { js: `const __address = require("node:url").pathToFileURL(__filename).href;` }
}

const esModules: BuildOptions = {
  ...common,
  format: "esm",
  // The identity provider for development finds its records by the names of their classes.
  keepNames: true,
  // CommonJS modules inside ask for Node's own modules by `require`, and where they are: beside what they were bundled into.
  define: { __dirname: "import.meta.dirname" },
  banner: {
    js: `import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);`
  }
}

/** Libraries that a service loads when it needs them stay files of their own beside it; gives them as `file → library`. */
const onDemand = (found: Map<string, string>): Plugin => ({
  name: "on demand",
  setup: ({ onResolve, resolve }) => {
    onResolve({ filter: /^[^.]/ }, async ({ kind, path, resolveDir }) => {
      if (kind !== "dynamic-import") return undefined
      const { errors, external } = await resolve(path, { kind: "import-statement", resolveDir })
      // Node's own, or one that is not installed: its importer does without it.
      if (external || errors.length > 0) return undefined
      const file = `${basename(path)}.mjs`
      found.set(file, path)
      return { path: `./${file}`, external: true }
    })
  }
})

/** Folders of the packages whose code is in what was built. */
const bundled = new Set<string>()

const noteBundled = (file: string): void => {
  const folder = packageFolderOf(file)
  if (folder !== undefined) bundled.add(folder)
}

/** Builds and records the packages whose code is in the bundle. */
const buildNoted = async (options: BuildOptions): Promise<void> => {
  const { metafile } = await build({ ...options, metafile: true })
  for (const { inputs } of Object.values(metafile?.outputs ?? {}))
    for (const [input, { bytesInOutput }] of Object.entries(inputs)) if (bytesInOutput > 0) noteBundled(input)
}

/** One file that needs no other of ours, CommonJS or ES module by its name. */
const file = (outfile: string, entry: string, plugins: ReadonlyArray<Plugin> = []) =>
  buildNoted({
    ...(outfile.endsWith(".cjs") ? commonJs : esModules),
    entryPoints: [entry],
    outfile,
    plugins: [namespaceImports, ...plugins]
  })

const inOneFile = async (folder: string, main: string): Promise<void> => {
  const libraries = new Map<string, string>()
  await file(`${folder}/main.cjs`, main, [neverLoaded, onDemand(libraries)])
  await Promise.all([...libraries].map(([name, library]) => file(`${folder}/${name}`, library)))
}

const inChunks = (folder: string, main: string) =>
  buildNoted({
    ...esModules,
    entryPoints: { main },
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    // Chunks are neighbours of the entry: sources find the files beside them by their own address.
    chunkNames: "[name]-[hash]",
    plugins: [namespaceImports],
    splitting: true
  })

/** The console's files, beside the Hub that serves them. */
const pages = async (folder: string): Promise<void> => {
  const built = await buildPages({
    configFile: `${root}packages/console/vite.config.ts`,
    build: { outDir: `${folder}/console` }
  })
  for (const { output } of "close" in built ? [] : [built].flat())
    for (const each of output)
      if (each.type === "chunk") for (const id of Object.keys(each.modules)) noteBundled(relative(root, id))
}

/** Built beside and renamed into place: what runs `dist/<service>` meanwhile finds the old one or the new one, whole. */
const bundle = async (service: string, { main, parts = {}, ...how }: Service): Promise<void> => {
  const folder = `${root}dist/${service}`
  const [fresh, stale] = [`${folder}.${process.pid}.new`, `${folder}.${process.pid}.old`]
  await Promise.all([
    how.inChunks === true ? inChunks(fresh, main) : inOneFile(fresh, main),
    ...Object.entries(parts).map(([name, entry]) => file(`${fresh}/${name}`, entry)),
    ...(service === "hub" ? [pages(fresh)] : [])
  ])
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
  const { license, optionalDependencies, version } = manifest("")
  const nodes = Object.fromEntries(
    Object.entries(optionalDependencies).filter(([name]) => name.startsWith("node-"))
  )
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
const lock: Lock = JSON.parse(readFileSync(`${root}package-lock.json`, "utf8"))
writeFileSync(`${root}dist/package.json`, `${JSON.stringify(distribution(), undefined, 2)}\n`)
writeFileSync(
  `${root}dist/package-lock.json`,
  `${JSON.stringify(distLock(lock, distribution()), undefined, 2)}\n`
)
copyFileSync(`${root}LICENSE`, `${root}dist/LICENSE`)
await Promise.all(Object.entries(services).map(([name, service]) => bundle(name, service)))
writeFileSync(`${root}dist/THIRD-PARTY-NOTICES.txt`, noticesOf(root, bundled))
const names = Object.keys(services)
  .map((service) => `dist/${service}`)
  .join(", ")
console.error(`built ${names} in ${Math.round(performance.now() - started)} ms`)
