/**
 * A program of the tests, bundled as the services are, once for all tests of a run: read file by file it takes up to two seconds of a processor to
 * start.
 */
import { buildSync } from "esbuild"
import { existsSync, mkdirSync, renameSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { folderOfRun } from "../postgres/SharedPostgres.ts"

/** For packages that call `require`. */
const REQUIRE = `import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);`

const bundle = (entry: string, file: string): void => {
  if (existsSync(file)) return
  const isModule = file.endsWith(".mjs")
  const fresh = join(dirname(file), `${process.pid}.${basename(file)}`)
  buildSync({
    entryPoints: [entry],
    outfile: fresh,
    bundle: true,
    format: isModule ? "esm" : "cjs",
    platform: "node",
    ...(isModule ? { banner: { js: REQUIRE } } : {}),
    logLevel: "error"
  })
  renameSync(fresh, file)
}

/** Path of the bundle of `entry`. `parts`: programs that it finds next to itself, by the names of their files. */
export const bundledProgram = (entry: string, parts: Readonly<Record<string, string>> = {}): string => {
  const name = basename(entry, ".ts")
  const folder = join(folderOfRun(), name)
  mkdirSync(folder, { recursive: true })
  for (const [file, part] of Object.entries(parts)) bundle(part, join(folder, file))
  const file = join(folder, `${name}.mjs`)
  bundle(entry, file)
  return file
}
