/**
 * Bundles each service into one folder of `dist` that starts with `node dist/<service>`.
 *
 * Everything but the native SQLite binding and the PostgreSQL programs is bundled. A folder holds the launcher (`index.js`) and the service,
 * an Edge's also the threads of the store (`writer.cjs`), of external adapters (`adapter.cjs`) and of searches for processes (`search.cjs`), the
 * holder of runs (`holder.cjs`), and the scripted runtime's program (`scripted.mjs`). The command's also has the thread of conformance checks
 * (`checks.cjs`) and the program of `doctor --probe` (`escapes.mjs`). They find each other by being neighbours. A Hub's also holds the console that it serves, in `console/`, and each holds its documents, in `documents/`.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { makeBundler, repository as root } from "./bundle/Bundler.ts"
import { documentedServices, writeServiceDocuments } from "./bundle/ServiceDocuments.ts"
import { commandParts, edgeParts } from "./bundle/EdgeParts.ts"
import { distLock, type Lock } from "./DistLock.ts"
import { noticesOf } from "./Notices.ts"

interface Service {
  readonly main: string
  readonly inChunks?: boolean
  /** What it starts beside itself, by file name. */
  readonly parts?: Readonly<Record<string, string>>
}

/** By folder of `dist`. */
const services: Readonly<Record<string, Service>> = {
  edge: { main: "packages/edge/src/main.ts", parts: edgeParts },
  hub: { main: "packages/hub/src/main.ts" },
  gateway: { main: "packages/gateway/src/main.ts" },
  corral: { main: "packages/cli/src/main.ts", inChunks: true, parts: commandParts }
}

const bundler = makeBundler({ hasSourceMaps: true, external: ["better-sqlite3"] })

/** Built beside and renamed into place: what runs `dist/<service>` meanwhile finds the old one or the new one, whole. */
const bundle = async (service: string, { main, parts = {}, ...how }: Service): Promise<void> => {
  const folder = `${root}dist/${service}`
  const [fresh, stale] = [`${folder}.${process.pid}.new`, `${folder}.${process.pid}.old`]
  await Promise.all([
    how.inChunks === true ? bundler.chunks(fresh, main) : bundler.service(fresh, main),
    ...Object.entries(parts).map(([name, entry]) => bundler.file(`${fresh}/${name}`, entry)),
    ...(service === "hub" ? [bundler.pages(fresh)] : [])
  ])
  const documented = documentedServices.filter((each) => service === each || service === "corral")
  writeServiceDocuments(fresh, documented)
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
const ready = new Set<string>()

/** A line that is written again while the build runs. On a terminal only. */
const showProgress = (): (() => void) => {
  const { stderr } = process
  if (stderr.isTTY !== true || process.env.TERM === "dumb") return () => {}
  const draw = (): void => {
    const seconds = Math.round((performance.now() - started) / 1_000)
    stderr.write(`\r\u001b[2KBuilding Corral · ${ready.size} of ${names.length} parts · ${seconds} s`)
  }
  draw()
  const timer = setInterval(draw, 500)
  return () => {
    clearInterval(timer)
    stderr.write("\r\u001b[2K")
  }
}

const names = Object.keys(services)
const endProgress = showProgress()
mkdirSync(`${root}dist`, { recursive: true })
const lock: Lock = JSON.parse(readFileSync(`${root}package-lock.json`, "utf8"))
writeFileSync(`${root}dist/package.json`, `${JSON.stringify(distribution(), undefined, 2)}\n`)
writeFileSync(
  `${root}dist/package-lock.json`,
  `${JSON.stringify(distLock(lock, distribution()), undefined, 2)}\n`
)
copyFileSync(`${root}LICENSE`, `${root}dist/LICENSE`)
await Promise.all(
  Object.entries(services).map(async ([name, service]) => {
    await bundle(name, service)
    ready.add(name)
  })
)
writeFileSync(`${root}dist/THIRD-PARTY-NOTICES.txt`, noticesOf(root, bundler.packages))
endProgress()
console.error(`Built Corral in ${Math.round((performance.now() - started) / 1_000)} s.`)
