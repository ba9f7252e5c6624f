/**
 * Writes what Corral is made of, in production, as CycloneDX 1.5: `dist/sbom.cdx.json`, from the lock file alone.
 *
 * npm makes the list. What only builds and tests is left out here, by the lock file's own marks: npm's `--omit dev` also leaves out what
 * a development package is a plugin of, and with it `effect`.
 */
import { execFileSync } from "node:child_process"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

interface Component {
  readonly "bom-ref": string
  readonly name: string
  readonly version: string
}
interface Bom {
  readonly components: ReadonlyArray<Component>
  readonly dependencies: ReadonlyArray<{ readonly ref: string; readonly dependsOn?: ReadonlyArray<string> }>
}
interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly dev?: true }>>
}

const root = fileURLToPath(new URL("..", import.meta.url))

const { packages }: Lock = JSON.parse(readFileSync(`${root}package-lock.json`, "utf8"))
/** Whether every copy of it in the lock file is for development alone. */
const isForDevelopment = ({ name, version }: Component): boolean => {
  const copies = Object.entries(packages).filter(
    ([path, entry]) => path.endsWith(`node_modules/${name}`) && entry.version === version
  )
  return copies.length > 0 && copies.every(([, { dev }]) => dev === true)
}

const args = ["sbom", "--sbom-format", "cyclonedx", "--package-lock-only"]
const whole: Bom = JSON.parse(
  execFileSync("npm", args, {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
    maxBuffer: 1 << 28
  })
)
const left = new Set(whole.components.filter(isForDevelopment).map((component) => component["bom-ref"]))
const components = whole.components.filter((component) => !left.has(component["bom-ref"]))
const dependencies = whole.dependencies
  .filter(({ ref }) => !left.has(ref))
  .map((each) => ({ ...each, dependsOn: each.dependsOn?.filter((ref) => !left.has(ref)) ?? [] }))
mkdirSync(`${root}dist`, { recursive: true })
writeFileSync(
  `${root}dist/sbom.cdx.json`,
  `${JSON.stringify({ ...whole, components, dependencies }, undefined, 2)}\n`
)
console.error(`dist/sbom.cdx.json: ${components.length} components`)
