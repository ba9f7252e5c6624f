/** The command line at a Hub: signed in, with runs on another machine. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Task } from "@corral/domain/task/Task"
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { PrometheusText } from "@corral/testing/http/PrometheusText"
import { until } from "@corral/testing/time/Until"
import { Joined } from "@corral/testing/stack/Joined"
import { Corral } from "./Corral.ts"
import { signIn } from "./SignIn.ts"

const METRICS_TOKEN = "a-token-of-more-than-32-characters"

describe("corral at a Hub", () => {
  const corral = new Corral()
  let joined: Joined
  beforeAll(async () => {
    joined = await Joined.open({ hubEnv: { CORRAL_METRICS_TOKEN: METRICS_TOKEN } })
    await signIn(corral, joined)
  })
  afterAll(async () => {
    await corral.close()
    await joined.remove()
  })

  const start = (prompt: string, ...flags: ReadonlyArray<string>) =>
    corral.start("run", "--agent", "scripted", "--workspace", "ws", ...flags, prompt)
  const askedFor = async (run: ReturnType<typeof start>): Promise<string> => {
    const [, id = ""] = await run.line(/approve (apr_\w+)/)
    return id
  }
  const runIdOf = async (run: ReturnType<typeof start>): Promise<string> => {
    const [id = ""] = await run.line(/run_\w+/)
    return id
  }
  const json = async (...args: ReadonlyArray<string>) => {
    const { exit, out, stderr } = await corral.run(...args, "--json")
    assert.deepStrictEqual([exit, stderr], [0, ""], out.join("\n"))
    return out.map((line) => JSON.parse(line))
  }

  /** Requests for single tasks so far. */
  const looksAtTasks = async (): Promise<number> => {
    const headers = { authorization: `Bearer ${METRICS_TOKEN}` }
    const response = await fetch(`${joined.hub.url}/metrics`, { headers })
    // Absent before the first one.
    return new PrometheusText(await response.text()).samples
      .filter(
        ({ labels, name }) =>
          name === "corral_hub_http_request_duration_seconds_count" &&
          labels["method"] === "GET" &&
          labels["route"] === "/client/tasks/:id"
      )
      .reduce((sum, { value }) => sum + value, 0)
  }

  it("stores the sign-in privately and shows the user", async () => {
    const file = join(corral.home, "hub.json")
    assert.strictEqual(statSync(file).mode & 0o777, 0o600)
    const [me] = await json("whoami")
    assert.deepStrictEqual(
      [me.hub, me.user.id, me.user.name, me.kind],
      [joined.front.url, joined.owner.userId, "owner", "cli"]
    )
    const again = await corral.run("login", "--hub", joined.front.url)
    const already = `You are already signed in to ${joined.front.url} as owner.`
    assert.deepStrictEqual([again.exit, again.out, again.stderr], [0, [already], ""])
    const other = await corral.run("login", "--hub", "https://elsewhere.example")
    assert.deepStrictEqual([other.exit, other.out], [2, []])
    assert.match(other.stderr, /as owner\. Run `corral logout` first\.\n$/)
  })

  it("lists projects and devices", async () => {
    const [project] = await json("projects")
    assert.deepStrictEqual([project.id, project.role], [joined.projectId, "owner"])
    const [device] = await json("devices")
    assert.deepStrictEqual([device.id, device.state], [joined.deviceId, "online"])
    const { out } = await corral.run("devices")
    assert.match(out[0] ?? "", /^dev_\w+ {2}online {3}laptop$/)
  })

  it("reports a run that the device rejects, without suggesting to follow it", async () => {
    const { exit, out, stderr } = await start("/say never", "--mode", "full_access", "--json").done
    assert.deepStrictEqual([exit, out], [2, []], stderr)
    assert.match(stderr, /full_access|grant/)
    assert.notMatch(stderr, /attach|still in progress|in progress/)
  })

  it("prints what runs have used as a table, as JSON and as CSV, with the limits of a project", async () => {
    assert.strictEqual(await start("/use 1200 0.25\n/say spent", "--budget-cost", "2.50").ended, 0)
    const [report] = await json("usage", "--by", "agent,model")
    assert.deepInclude(report.rows[0], { agentId: "scripted", costUsd: 0.25, estimatedUsd: 0 })
    const projectPath = `/client/projects/${joined.projectId}`
    const body = { runBudget: { costUsd: 1 } }
    assert.strictEqual((await joined.owner.ask("PATCH", projectPath, { body })).status, 200)
    const limit = `${projectPath}/limits/everyone`
    const set = await joined.owner.ask("PUT", limit, { body: { costUsd: 10 } })
    assert.strictEqual(set.status, 200, set.text)
    const table = await corral.run("usage", "--project", joined.projectId, "--by", "person")
    assert.deepStrictEqual([table.exit, table.stderr], [0, ""])
    assert.match(table.out[0] ?? "", /^person\s+runs\s+input\s+output\s+cost$/)
    assert.match(table.out.join("\n"), /^owner\s+\d+\s.*\$0\.25$/m)
    assert.match(table.out.at(-1) ?? "", /^everyone {2}\$0\.25 of \$10\.00 used$/)
    assert.strictEqual((await joined.owner.ask("DELETE", limit)).status, 204)
    const csv = await corral.run("usage", "--by", "day,agent", "--csv")
    assert.match(csv.out[0] ?? "", /^day,agentId,runs,/)
    assert.match(csv.out[1] ?? "", /^\d{4}-\d\d-\d\d,scripted,\d+,0,/)
    for (const [flags, reason] of [
      [["--csv", "--json"], /Choose --csv or --json/],
      [["--by", "hour"], /day, person, project, agent and model/],
      [["--from", "2026-02-30"], /a date such as/],
      [["--project", "none such"], /project/]
    ] as const) {
      const refused = await corral.run("usage", ...flags)
      assert.strictEqual(refused.exit, 2, flags.join(" "))
      assert.match(refused.stderr, reason)
    }
  })

  it("prints the name of another user who decides", async () => {
    const ada = await joined.hub.signedIn("ada")
    const added = await joined.owner.ask("POST", `/client/projects/${joined.projectId}/members`, {
      body: { userId: ada.userId, role: "member" }
    })
    assert.strictEqual(added.status, 201, added.text)
    const run = start("/write ada.txt x\n/say on")
    const path = `/client/approvals/${await askedFor(run)}/decide`
    const decided = await ada.ask("POST", path, { body: { decision: "allow" } })
    assert.strictEqual(decided.status, 200, decided.text)
    await run.line(/^approved by ada\b/)
    assert.strictEqual(await run.ended, 0, run.stderr)
  })

  it("denies an approval and cancels a run at Ctrl-C", async () => {
    const denied = start("/write never.txt x\n/say on")
    const [approval] = await json("deny", "--reason", "not here", await askedFor(denied))
    assert.deepStrictEqual([approval.state, approval.reason], ["denied", "not here"])
    assert.strictEqual(await denied.ended, 0)
    assert.isFalse(existsSync(join(joined.edge.workspace, "never.txt")))

    const held = start("/say here\n/hang")
    await held.line(/^here$/)
    held.child.kill("SIGINT")
    assert.strictEqual(await held.ended, 130)
    const { state } = await joined.edge.client.run((await runIdOf(held)) as never)
    assert.strictEqual(state, "cancelled")
  })

  it("stops a run and a message by their budgets, and refuses one that the agent can't count", async () => {
    const limits = ["--budget-turns", "2", "--timeout", "600"]
    const prompt = "/use 1\n/use 1\n/sleep 60000"
    const run = await corral.run("run", "--agent", "scripted", "--workspace", "ws", ...limits, prompt)
    assert.strictEqual(run.exit, 1, run.stderr)
    assert.include(
      `${run.out.join("\n")}${run.stderr}`,
      "The run's turn budget is used up. (budget_exceeded)"
    )
    const [task] = (await joined.owner.ask<{ readonly items: ReadonlyArray<Task> }>("GET", "/client/tasks"))
      .body.items
    assert.deepStrictEqual([task?.budget, task?.timeoutMs], [{ turns: 2 }, 600_000])
    const message = ["say", "--new", "--to", "scripted", "--wait", "--budget-turns", "2", prompt]
    const answer = await corral.run(...message)
    assert.strictEqual(answer.exit, 1, answer.stderr)
    assert.include(answer.stderr, "The run's turn budget is used up.")
    const refused = await corral.run("run", "-a", "qwen", "-w", "ws", "--budget-turns", "5", "hi")
    assert.strictEqual(refused.exit, 2)
    assert.match(refused.stderr, /budget\.turns.*does not report its turns while it works/s)
  })

  it("lists available names for an unknown one", async () => {
    const refused = async (...args: ReadonlyArray<string>) => {
      const { exit, out, stderr } = await corral.run(...args)
      assert.deepStrictEqual({ exit, out }, { exit: 2, out: [] })
      return stderr
    }
    const run = ["run", "-a", "scripted", "x"]
    assert.match(
      await refused(...run, "-w", "nowhere"),
      /^Workspace nowhere is not linked .* Linked workspaces: ws\.\n$/
    )
    assert.match(await refused(...run, "-w", "ws", "--target", "moon"), /Available: laptop \(dev_/)
    assert.match(await refused(...run, "-w", "ws", "-p", "none"), /^No project is named none\. Available: /)
    const unknown = `run_${"0".repeat(26)}`
    const suggested = `\`corral runs --hub ${joined.front.url}\``
    assert.include(
      await refused("diff", unknown, "--hub", joined.front.url),
      `Run ${unknown} was not found, or you don't have access to it. ${suggested} lists`
    )
    assert.match(await refused("runs", "--hub", "https://elsewhere.example"), /corral logout` first/)
    assert.match(
      await refused("runs", "--hub", "x", "--url", "http://127.0.0.1:1"),
      /Use one or the other\.\n$/
    )
  })

  it("waits for an offline device and cancels the task at Ctrl-C", async () => {
    const { deviceId, edge, owner } = joined
    await edge.stop()
    await joined.online(deviceId, "offline")
    const there = ["run", "-a", "scripted", "-w", "ws", "/say hi"]
    const refused = await corral.run(...there)
    assert.deepStrictEqual([refused.exit, refused.out], [2, []])
    assert.match(refused.stderr, /^laptop is offline\. Use --queue to wait for it\. \(target_offline req_/)

    const tasks = async () =>
      (await owner.ask<{ readonly items: ReadonlyArray<Task> }>("GET", "/client/tasks")).body.items
    const before = await looksAtTasks()
    const queued = corral.start(...there, "--queue")
    await until(async () => (await tasks()).find(({ state }) => state === "queued"), "a queued task")
    // Before it looks, the command may not have the answer to its request, and a signal ends it without a cancellation.
    await until(async () => (await looksAtTasks()) > before || undefined, "a look of the command at its task")
    queued.child.kill("SIGINT")
    assert.strictEqual(await queued.ended, 130)
    assert.strictEqual(
      queued.stderr,
      "Cancelling the task. Press Ctrl-C again to exit without waiting.\nTask cancelled.\n"
    )
    const [task] = await tasks()
    assert.deepInclude(task, { targetId: deviceId, state: "cancelled" })
    await edge.start()
    await joined.online()
  })

  it("prefers the local Edge unless a Hub is named, and names the Hub in suggested commands", async () => {
    await corral.up()
    assert.deepStrictEqual(await json("runs"), [])
    assert.isAbove((await json("runs", "--hub", joined.front.url)).length, 2)

    const run = start("/write named.txt x", "--project", joined.projectId)
    const [, suggested = ""] = await run.line(/ (approve apr_.*?) {2,}or: /)
    assert.strictEqual((await corral.run(...suggested.split(" "))).exit, 0)
    assert.strictEqual(await run.ended, 0)
  })

  it("ends the sign-in and says how to sign in again", async () => {
    const file = join(corral.home, "hub.json")
    const content = readFileSync(file, "utf8")
    const run = start("/say here\n/wait", "--hub", joined.front.url)
    await run.line(/^here$/)
    assert.deepStrictEqual((await corral.run("logout")).out, [`You are signed out of ${joined.front.url}.`])
    assert.isFalse(existsSync(file))
    const response = await fetch(`${joined.front.url}/client/auth/me`, {
      headers: { authorization: `Bearer ${JSON.parse(content).token}` }
    })
    assert.strictEqual(response.status, 401)
    const { exit, stderr } = await corral.run("projects")
    assert.deepStrictEqual(
      [exit, stderr],
      [2, "You are not signed in to a Hub. Sign in with `corral login --hub URL`.\n"]
    )

    // The run has started and continues.
    assert.strictEqual(await run.ended, 1)
    const expired = `has expired. Sign in again with \`corral login --hub ${joined.front.url}\`.`
    assert.include(run.stderr, `${expired} The run is still in progress. Follow it again: `)
    assert.include(run.stderr, `attach ${await runIdOf(run)} --hub ${joined.front.url} --after `)

    writeFileSync(file, content, { mode: 0o600 })
    for (const command of ["whoami", "projects", "devices"]) {
      const ended = await corral.run(command)
      assert.deepStrictEqual([ended.exit, ended.out], [2, []])
      assert.include(ended.stderr, expired)
    }
  })
})
