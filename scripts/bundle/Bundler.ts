/**
 * Programs as few files: one CommonJS file for a service, ES modules in chunks for the command line, static files for the console.
 *
 * Node starts one CommonJS file with a fifth less work than ES modules (ADR 25). The command line is in chunks, because most commands need
 * few of them. Notes the packages whose code it has bundled.
 */
import { build, type BuildOptions, type Plugin } from "esbuild"
import { readFileSync } from "node:fs"
import { basename, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { build as buildPages } from "vite"
import { namespaceImports } from "../NamespaceImports.ts"
import { packageFolderOf } from "../Notices.ts"

export const repository = fileURLToPath(new URL("../..", import.meta.url))

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
  absWorkingDir: repository,
  bundle: true,
  platform: "node",
  target: "node22",
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

/**
 * The text of a program stays in memory, with two bytes for each character if one of them is not in Latin-1. The bundler escapes such characters
 * in strings, and leaves those of regular expressions.
 */
const checkAscii = (outfile: string): void => {
  const [found] = /.{0,60}[^\0-\u007f]/.exec(readFileSync(outfile, "utf8")) ?? []
  if (found !== undefined)
    throw new Error(`${outfile} has a character that is not ASCII. Escape it in the source: ${found}`)
}

/** Libraries that a service loads when it needs them stay separate files beside it; gives them as `file → library`. */
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

export interface BundlerOptions {
  readonly hasSourceMaps: boolean
  /** Libraries that are installed beside the program. */
  readonly external: ReadonlyArray<string>
  readonly plugins?: ReadonlyArray<Plugin>
}

export interface Bundler {
  /** Folders of the packages whose code is in what was built. */
  readonly packages: ReadonlySet<string>
  /** One file that needs no other of ours, CommonJS or ES module by its name. */
  readonly file: (outfile: string, entry: string) => Promise<void>
  /** A service: `main.cjs`, and beside it the libraries that it loads when it needs them. */
  readonly service: (folder: string, main: string) => Promise<void>
  /** A program in chunks: `main.mjs` and its neighbours. */
  readonly chunks: (folder: string, main: string) => Promise<void>
  /** The console's files, in `console`. */
  readonly pages: (folder: string) => Promise<void>
}

export const makeBundler = ({ external, hasSourceMaps, plugins = [] }: BundlerOptions): Bundler => {
  const packages = new Set<string>()
  const note = (file: string): void => {
    const folder = packageFolderOf(file)
    if (folder !== undefined) packages.add(folder)
  }
  const bundle = async (options: BuildOptions): Promise<void> => {
    const { metafile } = await build({
      ...options,
      external: [...external, ...unused],
      plugins: [namespaceImports, ...plugins, ...(options.plugins ?? [])],
      sourcemap: hasSourceMaps,
      metafile: true
    })
    for (const { inputs } of Object.values(metafile.outputs))
      for (const [input, { bytesInOutput }] of Object.entries(inputs)) if (bytesInOutput > 0) note(input)
  }
  const file = async (outfile: string, entry: string, extraPlugins: ReadonlyArray<Plugin> = []) => {
    const isCommonJs = outfile.endsWith(".cjs")
    await bundle({
      ...(isCommonJs ? commonJs : esModules),
      entryPoints: [entry],
      outfile,
      plugins: [...extraPlugins]
    })
    if (isCommonJs) checkAscii(outfile)
  }
  return {
    packages,
    file: (outfile, entry) => file(outfile, entry),
    service: async (folder, main) => {
      const libraries = new Map<string, string>()
      await file(`${folder}/main.cjs`, main, [neverLoaded, onDemand(libraries)])
      await Promise.all([...libraries].map(([name, library]) => file(`${folder}/${name}`, library)))
    },
    chunks: (folder, main) =>
      bundle({
        ...esModules,
        entryPoints: { main },
        outdir: folder,
        outExtension: { ".js": ".mjs" },
        // Chunks are neighbours of the entry: sources find the files beside them by their own address.
        chunkNames: "[name]-[hash]",
        splitting: true
      }),
    pages: async (folder) => {
      const built = await buildPages({
        configFile: `${repository}packages/console/vite.config.ts`,
        build: { outDir: `${folder}/console` }
      })
      for (const { output } of "close" in built ? [] : [built].flat())
        for (const each of output)
          if (each.type === "chunk")
            for (const id of Object.keys(each.modules)) note(relative(repository, id))
    }
  }
}
