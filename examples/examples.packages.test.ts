/**
 * Examples: each one is type-checked and run outside the repository, on packed packages. It prints the documented events or serves the
 * documented routes.
 */
import { isTerminalType } from "@corral/domain/run/RunEnd"
import { decodeEvent } from "@corral/domain/run/RunEvent"
import { APP, KEY, pushedMessage, TENANT, TOKEN, unsigned } from "@corral/testing/gateway/FakeFeishu"
import { dropDatabase, makeDatabase, sharedServer } from "@corral/testing/postgres/SharedPostgres"
import { assert, beforeAll, describe, it, onTestFinished } from "@effect/vitest"
import { Result } from "effect"
import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inject } from "vitest"
import { linkLibrary } from "../scripts/pack/installed.ts"
import { compileCache, copyExamples, serveExample } from "../scripts/pack/ServedExample.ts"

const root = join(import.meta.dirname, "..")
let outside: string
beforeAll(() => {
  outside = copyExamples(inject("packages").folder)
})

/** Complete log of one run, as an example prints it. */
const printed = (example: string) => {
  const stdout = execFileSync(process.execPath, [`examples/${example}/main.ts`], {
    cwd: outside,
    encoding: "utf8",
    env: { ...process.env, ...compileCache }
  })
  const events = stdout
    .trimEnd()
    .split("\n")
    .map((line) => {
      const read = Result.getOrThrow(decodeEvent(JSON.parse(line)))
      assert.strictEqual(read._tag, "KnownEvent")
      return JSON.parse(line) as { seq: number; type: string; payload: { output?: string; by?: string } }
    })
  assert.deepStrictEqual(
    events.map(({ seq }) => seq),
    events.map((_, i) => i + 1)
  )
  assert.strictEqual(events[0]?.type, "run.created")
  assert.strictEqual(events.at(-1)?.type, "run.completed")
  assert.strictEqual(events.filter(({ type }) => isTerminalType(type)).length, 1)
  return events
}

describe("examples", () => {
  it("have types in a program with the packages, whose declarations are checked too", () => {
    for (const name of ["@types/node", "undici-types"]) linkLibrary(join(outside, "node_modules"), name)
    const compilerOptions = {
      target: "es2024",
      module: "nodenext",
      strict: true,
      exactOptionalPropertyTypes: true,
      allowImportingTsExtensions: true,
      noEmit: true,
      // Effect's declarations name types of the web.
      lib: ["es2024", "dom", "dom.iterable"],
      types: ["node"]
    }
    writeFileSync(join(outside, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["examples"] }))
    const compiler = join(root, "node_modules/typescript/bin/tsc")
    const { stdout } = spawnSync(process.execPath, [compiler, "-p", "."], { cwd: outside, encoding: "utf8" })
    assert.strictEqual(stdout, "")
  })

  it.each(["embed-edge", "embed-edge-effect"])(
    "%s runs an agent, allows its action, prints its log",
    (name) => {
      const events = printed(name)
      const outputs = events
        .filter(({ type }) => type === "run.tool.result")
        .map(({ payload }) => payload.output)
      assert.include(outputs[0], "main.ts")
      assert.strictEqual(outputs[1]?.trim(), "from the shell")
      assert.include(
        events.map(({ type }) => type),
        "run.approval.resolved"
      )
    }
  )

  it("embed-edge needs one import, and embed-edge-effect three", () => {
    const importsOf = (name: string) =>
      readFileSync(join(root, `examples/${name}/main.ts`), "utf8").match(/^import /gm)?.length
    assert.deepStrictEqual(["embed-edge", "embed-edge-effect"].map(importsOf), [1, 3])
  })

  it("embed-edge and embed-edge-effect are the first code of their guide", () => {
    const guide = readFileSync(join(root, "docs/embed-edge.md"), "utf8")
    const [first, second] = [...guide.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, code]) => code)
    for (const [name, code] of [
      ["embed-edge", first],
      ["embed-edge-effect", second]
    ] as const)
      assert.isTrue(readFileSync(join(root, `examples/${name}/main.ts`), "utf8").endsWith(`\n${code}`), name)
  })

  const started = (args: ReadonlyArray<string>, input = "") =>
    spawnSync(process.execPath, args, {
      cwd: outside,
      encoding: "utf8",
      env: { ...process.env, ...compileCache },
      input,
      timeout: 60_000
    })

  it("cli-tool asks in the terminal, and exits with the result of the run", () => {
    const tool = "examples/cli-tool/main.ts"
    const allowed = started([tool, "/say Hello", "/shell echo from the shell"], "y\n")
    assert.deepStrictEqual([allowed.status, allowed.stdout.trim()], [0, "Hello\nfrom the shell"])
    assert.include(allowed.stderr, "Allow? Run echo from the shell [y/N]")
    assert.notInclude(started([tool, "/shell echo from the shell"]).stdout, "from the shell")
    const usage = started([tool])
    assert.deepStrictEqual([usage.status, usage.stderr.startsWith("Usage: cli-tool ")], [2, true])
    const failed = started([tool, "--agent", "unknown", "/say Hello"])
    assert.deepStrictEqual(
      [failed.status, failed.stderr.trim()],
      [1, "cli-tool: There is no agent with this id."]
    )
  })

  it("edge-in-tests passes its own tests, with the store in memory", () => {
    const { status, stdout } = started(["--test", "examples/edge-in-tests/Greeter.spec.ts"])
    assert.strictEqual(status, 0, stdout)
    assert.match(stdout, /pass 2\b/)
  })

  it("custom-adapter runs its own program, which waits for approval", () => {
    const events = printed("custom-adapter")
    const types = events.map(({ type }) => type)
    const result = events.find(({ type }) => type === "run.tool.result")
    assert.strictEqual(result?.payload.output, "Deployed the website.")
    const [requested, resolved] = ["run.approval.requested", "run.approval.resolved"].map((type) =>
      types.indexOf(type)
    )
    assert.isAbove(requested ?? -1, types.indexOf("run.tool.call"))
    assert.isAbove(resolved ?? -1, requested ?? -1)
  })
})

const statusOf = async (response: Promise<Response>): Promise<number> => (await response).status

const makeEmptyDatabase = async (): Promise<string> => {
  const url = await makeDatabase(await sharedServer(), { prepared: false })
  onTestFinished(() => dropDatabase(url))
  return url
}

/** The guide contains the part of an example that mounts the routes. */
const assertInGuide = (guide: string, example: string): void => {
  const source = readFileSync(join(root, `examples/${example}/main.ts`), "utf8")
  const part = source.slice(
    source.indexOf("const ownPage"),
    source.indexOf("\n\n", source.indexOf("const ownPage"))
  )
  assert.include(readFileSync(join(root, `docs/${guide}.md`), "utf8"), part)
}

describe("mounted routes", () => {
  it("mount-edge serves its own page, and the Edge's routes only with the token", async () => {
    const { output, request } = await serveExample(outside, "mount-edge", { path: "/corral/health/live" })
    assert.strictEqual(await (await request("/")).text(), "my own page")
    assert.strictEqual(await statusOf(request("/corral/v1/runs")), 401)
    const token = readFileSync(/\S+edge\.token/.exec(output())?.[0] ?? "", "utf8").trim()
    const authorization = `Bearer ${token}`
    assert.strictEqual(await statusOf(request("/corral/v1/runs", { headers: { authorization } })), 200)
    const headers = { authorization, origin: "https://evil.example" }
    assert.strictEqual(await statusOf(request("/corral/v1/runs", { headers })), 403)
    assertInGuide("embed-edge", "mount-edge")
  })

  it("mount-hub serves its own page, and the Hub's routes only with a sign-in", async () => {
    const home = mkdtempSync(join(tmpdir(), "corral-"))
    onTestFinished(() => rmSync(home, { recursive: true }))
    const env = { CORRAL_HOME: home, CORRAL_DATABASE_URL: await makeEmptyDatabase() }
    const { request } = await serveExample(outside, "mount-hub", { env, path: "/corral/health/live" })
    assert.strictEqual(await (await request("/")).text(), "my own page")
    // The package has no console, and its user has no repository to build one in.
    const page = await (await request("/corral")).text()
    assert.include(page, "The console is part of the package <code>corral</code>")
    assert.notInclude(page, "npm run build")
    assert.strictEqual(await statusOf(request("/corral/client/projects")), 401)
    const headers = { origin: "https://evil.example" }
    assert.strictEqual(await statusOf(request("/corral/client/projects", { headers })), 403)
    assertInGuide("hub", "mount-hub")
  })

  it("mount-gateway serves its own page, and stores signed events only", async () => {
    const env = {
      CORRAL_DATABASE_URL: await makeEmptyDatabase(),
      CORRAL_FEISHU_APP_ID: APP,
      CORRAL_FEISHU_ENCRYPT_KEY: KEY,
      CORRAL_FEISHU_VERIFICATION_TOKEN: TOKEN,
      CORRAL_FEISHU_TENANTS: TENANT
    }
    const { request } = await serveExample(outside, "mount-gateway", { env, path: "/corral/health/live" })
    const push = ({ body, headers }: ReturnType<typeof unsigned>) =>
      statusOf(
        request("/corral/integrations/feishu/events", { method: "POST", headers, body: new Uint8Array(body) })
      )
    assert.strictEqual(await (await request("/")).text(), "my own page")
    assert.strictEqual(await push(unsigned({ challenge: "x" })), 401)
    assert.strictEqual(await push(pushedMessage("ev_example")), 200)
    assertInGuide("gateway", "mount-gateway")
  })
})
