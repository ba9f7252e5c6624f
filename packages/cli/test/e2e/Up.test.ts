/** `corral up` for a new user: after one command, the signed-in browser has a project to start a run in. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Device, Target } from "@corral/domain/device/Device"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { Project } from "@corral/domain/project/Project"
import type { Task } from "@corral/domain/task/Task"
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir, userInfo } from "node:os"
import { join } from "node:path"
import { Browser, locationOf } from "@corral/testing/hub/Browser"
import { until } from "@corral/testing/time/Until"
import { Corral } from "./Corral.ts"

interface Items<A> {
  readonly items: ReadonlyArray<A>
}

describe("corral up", () => {
  const corral = new Corral()
  const browser = new Browser()
  let up: Awaited<ReturnType<Corral["upWhole"]>>
  beforeAll(async () => {
    up = await corral.upWhole()
  })
  afterAll(() => corral.close())

  const get = async <A>(path: string): Promise<A> => (await browser.hub(`${up.url}${path}`)).body as A
  const device = () => JSON.parse(readFileSync(join(corral.home, "own-device.json"), "utf8"))

  /** Sent on, as a browser is, until a page comes. */
  const follow = async (response: Response): Promise<Response> => {
    let at = response
    while (at.status >= 300 && at.status < 400) at = await browser.send(new URL(locationOf(at), at.url).href)
    return at
  }

  const signIn = async (): Promise<string> => {
    const form = await follow(await browser.send(`${up.url}/client/auth/login?returnTo=/`))
    const page = await form.text()
    const body = new URLSearchParams({ name: userInfo().username })
    const back = await follow(await browser.send(form.url, { method: "POST", body }))
    assert.strictEqual(back.url, `${up.url}/`)
    return page
  }

  it("serves the console and suggests a name for the sign-in", async () => {
    const page = await browser.send(`${up.url}/`)
    assert.match(await page.text(), /<div id="root">/)
    assert.include(await signIn(), `value="${userInfo().username}"`)
  })

  it("joins its Edge automatically and links the sample workspace to a project", async () => {
    assert.strictEqual(statSync(join(corral.home, "own-device.json")).mode & 0o777, 0o600)
    const { items } = await get<Items<Project>>("/client/projects")
    assert.deepStrictEqual(
      items.map(({ name, role }) => [name, role]),
      [["First project", "owner"]]
    )
    const [project] = items
    const targets = await get<Items<Target>>(`/client/targets?projectId=${project?.id}`)
    assert.deepStrictEqual(
      targets.items.map(({ id, state, workspaces }) => [id, state, workspaces.map((each) => each.id)]),
      [[device().deviceId, "online", ["sample"]]]
    )
  })

  it("runs an agent for the signed-in user", async () => {
    const [project] = (await get<Items<Project>>("/client/projects")).items
    const created = await browser.hub(`${up.url}/web/agent-tasks`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        origin: up.url,
        "x-csrf-token": browser.cookies(up.url).get("__Host-corral-csrf") ?? ""
      },
      body: JSON.stringify({
        projectId: project?.id,
        targetId: device().deviceId,
        workspace: "sample",
        agentId: "scripted",
        mode: "read_only",
        input: { text: "/say hello" }
      })
    })
    assert.strictEqual(created.status, 201, created.text)
    const { id } = created.body as Task
    await until(
      async () => ((await get<Task>(`/client/tasks/${id}`)).state === "completed" ? true : undefined),
      "the task completed",
      30_000
    )
    const runs = await get<Items<HubRun>>("/client/runs")
    assert.deepStrictEqual(
      runs.items.map(({ state }) => state),
      ["completed"]
    )
  })

  it("signs the terminals of its home in, so that the console shows their runs", async () => {
    assert.strictEqual(statSync(join(corral.home, "hub.json")).mode & 0o777, 0o600)
    const run = ["run", "--agent", "scripted"]
    const { exit, out, stderr } = await corral.run(...run, "/say from the terminal")
    assert.strictEqual(exit, 0, out.join("\n"))
    assert.strictEqual(stderr, `This run is in project First project at ${up.url}: the console shows it.\n`)
    const local = await corral.run(...run, "--edge", "/say only here")
    assert.deepStrictEqual([local.exit, local.stderr], [0, ""])
    assert.deepStrictEqual(
      local.out.map((line) => line.replaceAll(/run_\w+/g, "run_…").replace("only here", "from the terminal")),
      out.map((line) => line.replaceAll(/run_\w+/g, "run_…"))
    )
    const { items } = await get<Items<HubRun>>("/client/runs")
    assert.deepStrictEqual(
      items.map(({ input }) => input.text),
      ["/say from the terminal", "/say hello"]
    )
  })

  it("keeps a run on this machine, and says why, if the console can't show it", async () => {
    const file = join(corral.home, "hub.json")
    const signIn = readFileSync(file)
    rmSync(file)
    const { exit, stderr } = await corral.run("run", "--agent", "scripted", "/say hello")
    writeFileSync(file, signIn, { mode: 0o600 })
    assert.strictEqual(exit, 0)
    const reason = `you are not signed in to ${up.url}`
    assert.strictEqual(stderr, `This run is only on this machine: ${reason}. The console does not show it.\n`)
  })

  it("exits with 0 and keeps device and project after a restart", async () => {
    const before = device()
    up.whole.child.kill("SIGTERM")
    assert.strictEqual(await up.whole.ended, 0)
    const lock = join(corral.home, "postgres", "18", "postmaster.pid")
    await until(async () => !existsSync(lock) || undefined, "the end of PostgreSQL")
    assert.isFalse(existsSync(join(corral.home, "hub.json")), "the sign-in ends with the Hub")

    up = await corral.upWhole("--workspace", `more=${corral.home}/sample`)
    assert.deepStrictEqual({ ...before, hub: up.url }, device())
    // On another port: the Edge does not look for the Hub where it was.
    assert.notStrictEqual(up.url, before.hub)
    assert.notInclude(up.whole.stderr, "lost the Hub link")
    await signIn()
    const projects = await get<Items<Project>>("/client/projects")
    assert.strictEqual(projects.items.length, 1)
    const { items } = await get<Items<Device>>("/client/devices")
    assert.deepStrictEqual(
      items.map(({ id, state }) => [id, state]),
      [[before.deviceId, "online"]]
    )
    const links = await get<Items<{ readonly workspace: string }>>(
      `/client/projects/${projects.items[0]?.id}/workspaces`
    )
    assert.deepStrictEqual(
      links.items.map(({ workspace }) => workspace),
      ["sample", "more"]
    )
    // An Edge whose device file is written again starts its link again.
    const writtenAt = (name: string) => statSync(join(corral.home, name)).mtimeMs
    assert.isBelow(writtenAt("own-device.json"), writtenAt("edge.json"))
  })
})

describe("corral up after a restart", () => {
  const agents = mkdtempSync(join(tmpdir(), "corral-agents-"))
  const machine = new Corral({ path: [agents, process.env.PATH].join(":") })
  afterAll(async () => {
    await machine.close()
    rmSync(agents, { recursive: true, force: true })
  })

  it("is ready when the Hub reaches its Edge", async () => {
    // Its checks take longer than everything else that starts.
    writeFileSync(join(agents, "claude"), "#!/bin/sh\nsleep 0.5\necho 2.1.0\n", { mode: 0o755 })
    const first = await machine.upWhole()
    first.whole.child.kill("SIGTERM")
    assert.strictEqual(await first.whole.ended, 0)
    await machine.upWhole()
    const { stderr } = await machine.run("run", "--agent", "scripted", "/say hello")
    assert.match(stderr, /^This run is in project First project /)
  })
})
