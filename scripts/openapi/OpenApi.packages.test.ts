/** The published documents as other tools read them: a linter, and generators of clients whose programs run against a live Hub. */
import { Joined } from "@corral/testing/stack/Joined"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { build } from "esbuild"
import { execFile, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { installTools } from "../pack/PackageTools.ts"
import { heyApiProgram, openapiFetchProgram } from "./GeneratedClients.ts"

const root = join(import.meta.dirname, "../..")
const documentOf = (service: string): string => join(root, `openapi/${service}.json`)

/** Together 70 MB, so no dependencies of the repository. */
const folder = mkdtempSync(join(tmpdir(), "corral-openapi-"))
/** Without the tools the tests are skipped: the registry is not reachable, and npm's cache does not contain them. */
const missing = await installTools(folder, {
  "@redocly/cli": "2.77.0",
  "openapi-typescript": "7.13.0",
  "openapi-fetch": "0.17.0",
  "@hey-api/openapi-ts": "0.99.0",
  typescript: "5.9.3"
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.skipIf(missing !== undefined)("published documents", () => {
  let joined: Joined
  const tool = (name: string, ...args: ReadonlyArray<string>) =>
    spawnSync(process.execPath, [join(folder, "node_modules", name), ...args], {
      cwd: folder,
      encoding: "utf8",
      env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" }
    })
  beforeAll(async () => {
    joined = await Joined.open()
  })
  afterAll(async () => {
    await joined.remove()
  })

  it.each(["edge", "gateway", "hub"])("%s has no finding of redocly", (service) => {
    // A sign-in in a browser answers with redirects only.
    const args = ["lint", documentOf(service), "--skip-rule=operation-2xx-response", "--format=json"]
    const { status, stdout } = tool("@redocly/cli/bin/cli.js", ...args)
    assert.strictEqual(status, 0, stdout)
    assert.deepStrictEqual(JSON.parse(stdout).problems, [])
  })

  it.each(["edge", "hub"])("the event streams of %s have no finding of redocly", (service) => {
    const { status, stdout } = tool(
      "@redocly/cli/bin/cli.js",
      "lint",
      join(root, `asyncapi/${service}.json`),
      "--format=json"
    )
    assert.strictEqual(status, 0, stdout)
    assert.deepStrictEqual(JSON.parse(stdout).problems, [])
  })

  /** Type-checks a program, and runs it as one file: generated modules have no extensions in their imports. */
  const outcomeOf = async (program: string, text: string): Promise<unknown> => {
    writeFileSync(join(folder, `${program}.ts`), text)
    const flags = ["--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "esnext"]
    const resolution = ["--moduleResolution", "bundler", "--allowImportingTsExtensions", "--types", "node"]
    const roots = ["--typeRoots", join(root, "node_modules/@types")]
    const checked = tool("typescript/bin/tsc", ...flags, ...resolution, ...roots, `${program}.ts`)
    assert.strictEqual(checked.stdout, "")
    const outfile = join(folder, `${program}.mjs`)
    await build({
      entryPoints: [join(folder, `${program}.ts`)],
      bundle: true,
      platform: "node",
      format: "esm",
      outfile
    })
    const { owner, projectId, deviceId } = joined
    const env = { HUB_URL: owner.url, TOKEN: owner.token ?? "", PROJECT: projectId, TARGET: deviceId }
    const { stdout } = await promisify(execFile)(process.execPath, [outfile], { env })
    return JSON.parse(stdout)
  }

  const assertOutcome = (outcome: unknown, path: string): void => {
    const { paths, refusal, types } = outcome as {
      types: Array<string>
      paths: Array<string>
      refusal: string
    }
    assert.strictEqual(types[0], "run.created")
    assert.includeMembers(types, ["run.approval.requested", "run.approval.resolved", "run.completed"])
    assert.include(paths, path)
    assert.strictEqual(refusal, "permission_denied")
  }

  it("give openapi-typescript a client that starts, follows, approves and reads the diff", async () => {
    const generated = tool("openapi-typescript/bin/cli.js", documentOf("hub"), "-o", "hub.d.ts")
    assert.strictEqual(generated.status, 0, generated.stderr)
    assertOutcome(await outcomeOf("fetch", openapiFetchProgram), "fetch.txt")
  })

  it("give @hey-api/openapi-ts a client that starts, follows, approves and reads the diff", async () => {
    const args = ["-i", documentOf("hub"), "-o", "hey", "-c", "@hey-api/client-fetch"]
    const generated = tool("@hey-api/openapi-ts/bin/run.js", ...args)
    assert.strictEqual(generated.status, 0, generated.stderr)
    assertOutcome(await outcomeOf("heyApi", heyApiProgram), "hey.txt")
  })
})
