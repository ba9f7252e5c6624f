/** First steps of a user with real processes: `up`, `run`, decide from a second terminal, cancel, detach. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { groupsHere } from "@corral/testing/edge/Survivors"
import { until } from "@corral/testing/time/Until"
import { Corral, program } from "./Corral.ts"

const corral = new Corral()
let url = ""
let edge: Awaited<ReturnType<typeof corral.up>>["edge"]

beforeAll(async () => {
  const up = await corral.up()
  url = up.url
  edge = up.edge
})
afterAll(() => corral.close())

const start = (prompt: string, ...flags: ReadonlyArray<string>) =>
  corral.start("run", "--agent", "scripted", "--workspace", "sample", ...flags, prompt)

const run = ["run", "--agent", "scripted", "--workspace", "sample"]

const askedFor = async (run: ReturnType<typeof start>): Promise<string> => {
  const [, id = ""] = await run.line(/approve (apr_\w+)/)
  return id
}

const runIdOf = async (run: ReturnType<typeof start>): Promise<string> => {
  const [id = ""] = await run.line(/run_\w+/)
  return id
}

const note = (name: string): string => join(corral.home, "sample", name)

describe("corral up", () => {
  it("creates a private home with a sample workspace", () => {
    assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/)
    const mode = (name: string) => statSync(join(corral.home, name)).mode & 0o777
    assert.deepStrictEqual([mode("."), mode("edge.json"), mode("edge.token")], [0o700, 0o600, 0o600])
    assert.isTrue(existsSync(note("README.md")))
  })

  it("rejects a second Edge in the same home with one message", async () => {
    const { exit, out, stderr } = await corral.run("up", "--edge-only")
    assert.deepStrictEqual({ exit, out }, { exit: 1, out: [] })
    assert.match(
      stderr,
      /^Corral is already running in \S+\. Use it from another terminal, stop it first, or set CORRAL_HOME to another folder\.\n$/
    )
  })
})

describe("corral run", () => {
  it("is stopped by its budget of turns, and says what was used", async () => {
    const flags = ["--budget-turns", "2", "--budget-time", "10m"]
    const { exit, out, stderr } = await corral.run(...run, ...flags, "/use 1\n/use 1\n/sleep 60000")
    const text = `${out.join("\n")}\n${stderr}`
    assert.strictEqual(exit, 1, text)
    assert.match(text, /The run's turn budget is used up\. \(budget_exceeded\)/)
    const [id = ""] = /run_\w+/.exec(text) ?? []
    assert.include((await corral.run("show", id)).out.join("\n"), "2 of 2 turns, 10 min")
    assert.strictEqual((await corral.run(...run, "--budget-turns", "0", "/say hi")).exit, 2)
  })

  it("executes an action approved from a second terminal", async () => {
    const run = start("/say before\n/write approved.txt hello\n/say after")
    const decided = await corral.run("approve", await askedFor(run))
    assert.deepStrictEqual(decided, { exit: 0, out: ["approved: Write approved.txt"], stderr: "" })
    assert.strictEqual(await run.ended, 0)
    assert.strictEqual(readFileSync(note("approved.txt"), "utf8"), "hello\n")
    // Nothing that only a terminal understands.
    assert.notMatch(run.out.join("") + run.stderr.replaceAll("\n", ""), /\p{Cc}/u)
    const lines = run.out.filter((line) => ["before", "after", "completed"].includes(line))
    assert.deepStrictEqual(lines, ["before", "after", "completed"])
  })

  it("skips a denied action and continues", async () => {
    const run = start("/write denied.txt hello\n/say after")
    const decided = await corral.run("deny", "--reason", "not today", await askedFor(run))
    assert.deepStrictEqual(decided.out, ["denied: Write denied.txt"])
    assert.strictEqual(await run.ended, 0)
    assert.isFalse(existsSync(note("denied.txt")))
    await run.line(/^denied by local in a terminal: not today/)
  })

  it("accepts one decision over HTTP and rejects a second one", async () => {
    const run = start("/write http.txt hello")
    const approvalId = await askedFor(run)
    const token = readFileSync(join(corral.home, "edge.token"), "utf8").trim()
    const response = await fetch(`${url}/v1/permissions/decide`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ runId: await runIdOf(run), approvalId, decision: "allow" })
    })
    assert.strictEqual(response.status, 200)
    assert.strictEqual(await run.ended, 0)
    const second = await corral.run("deny", approvalId)
    assert.strictEqual(second.exit, 2)
    assert.match(
      second.stderr,
      /^Someone has already decided this\. \(approval_already_resolved req_\w+\)\n$/
    )
  })

  it("allows everything with --yes, and prints envelopes with --json", async () => {
    const run = start("/write yes.txt hello", "--yes", "--json")
    assert.strictEqual(await run.ended, 0)
    const events = run.out.map((line): { seq: number; type: string } => JSON.parse(line))
    assert.deepStrictEqual(
      events.map(({ seq }) => seq),
      events.map((_, i) => i + 1)
    )
    assert.deepStrictEqual([events.at(0)?.type, events.at(-1)?.type], ["run.created", "run.completed"])
    assert.isTrue(existsSync(note("yes.txt")))
  })

  it("cancels the run at Ctrl-C and waits for its end", async () => {
    const run = start("/say here\n/hang")
    await run.line(/^here$/)
    run.child.kill("SIGINT")
    assert.strictEqual(await run.ended, 130)
    await run.line(/^cancelled/)
    const { out } = await corral.run("runs", "--state", "cancelled", "--json")
    assert.include(
      out.map((line) => JSON.parse(line).id),
      await runIdOf(run)
    )
  })

  it.skipIf(groupsHere === undefined)(
    "pauses and continues a run, which says so where it is followed",
    async () => {
      const run = start("/say here\n/sleep 200\n/wait")
      await run.line(/^here$/)
      const id = await runIdOf(run)
      const paused = await corral.run("pause", id)
      assert.deepStrictEqual(paused, { exit: 0, out: [`${id} is paused`], stderr: "" })
      await run.line(/^paused by local$/)
      const { out } = await corral.run("runs", "--limit", "1")
      assert.match(out[0] ?? "", /^run_\w+ {2}paused /)
      assert.include((await corral.run("show", id)).out.join("\n"), "running, paused")
      const again = await corral.run("pause", id.slice(0, 20), "--json")
      assert.deepInclude(JSON.parse(again.out[0] ?? "{}"), { id, state: "running", paused: true })
      const resumed = await corral.run("unpause", id)
      assert.deepStrictEqual(resumed, { exit: 0, out: [`${id} continues`], stderr: "" })
      await run.line(/^resumed by local$/)
      assert.strictEqual((await corral.run("cancel", id)).exit, 0)
      assert.strictEqual(await run.ended, 130)
      const late = await corral.run("pause", id)
      assert.strictEqual(late.exit, 2)
      assert.include(late.stderr, "The run has ended.")
    }
  )

  it("keeps pausing apart from continuing a conversation", async () => {
    const [pause, unpause] = [await corral.run("pause", "--help"), await corral.run("unpause", "--help")]
    assert.include(pause.out.join("\n"), "unpause")
    assert.include(unpause.out.join("\n"), "run --resume")
  })

  it("exits at the second Ctrl-C without waiting for the Edge", async () => {
    const run = start("/say here\n/hang")
    await run.line(/^here$/)
    edge.child.kill("SIGSTOP")
    try {
      run.child.kill("SIGINT")
      await run.warned(/^Cancelling the run\. Press Ctrl-C again to exit without waiting\.$/m)
      // Presses that follow at once are the first one, passed on by npm.
      await until(async () => {
        run.child.kill("SIGINT")
        return run.child.exitCode ?? undefined
      }, "the end")
    } finally {
      edge.child.kill("SIGCONT")
    }
    assert.strictEqual(await run.ended, 130)
    assert.match(run.stderr, /^Detached\. `.* attach run_\w+` follows the run again\.$/m)
  })

  it("exits with 1 for a failed run and with 2 for a rejected one", async () => {
    const failed = start("/fail on purpose")
    assert.strictEqual(await failed.ended, 1)
    await failed.line(/^failed: .*on purpose/)
    const refused = async (...args: ReadonlyArray<string>) => {
      const { exit, out, stderr } = await corral.run("run", ...args)
      assert.deepStrictEqual({ exit, out }, { exit: 2, out: [] })
      assert.notInclude(stderr, "    at ")
      return stderr
    }
    assert.match(
      await refused("-a", "unknown", "-w", "sample", "x"),
      /Available agents: .*scripted.*\(invalid_agent_id req_/
    )
    assert.match(
      await refused("-a", "scripted", "-w", "elsewhere", "x"),
      /Available workspaces: sample\. \(workspace_outside/
    )
    // There is one workspace, but more than one agent.
    assert.match(await refused("/say hi"), /^Choose an agent with --agent\. Available: .*scripted/)
    assert.strictEqual((await corral.run("run", "-a", "scripted", "/say hi")).exit, 0)
  })

  it("runs an agent with the Claude Code protocol", async () => {
    const run = corral.start("run", "--agent", "claude-code", "--workspace", "sample", "Please do the task.")
    const approval = await askedFor(run)
    await run.line(/^ {2}command: touch approved\.txt/)
    assert.strictEqual((await corral.run("approve", approval)).exit, 0)
    assert.strictEqual(await run.ended, 0)
    await run.line(/^Finished after the decision\.$/)

    const denied = corral.start(
      "run",
      "--agent",
      "claude-code",
      "--workspace",
      "sample",
      "Please do the task."
    )
    assert.strictEqual((await corral.run("deny", await askedFor(denied))).exit, 0)
    assert.strictEqual(await denied.ended, 0)
    await denied.line(/^denied/)
  })
})

describe("the other commands", () => {
  it("explain invalid arguments and the next step", async () => {
    const id = "00000000000000000000000000"
    const textOf = async (...args: ReadonlyArray<string>) => {
      const { exit, out, stderr } = await corral.run(...args)
      assert.deepStrictEqual({ exit, out }, { exit: 2, out: [] }, stderr)
      return stderr
    }
    const [nowhere, undecided, noId, noTime, noFolder] = await Promise.all([
      textOf("attach", `run_${id}`),
      textOf("approve", `apr_${id}`),
      textOf("attach", "first"),
      textOf(...run, "--timeout", "0", "x"),
      textOf("up", "--edge-only", "--workspace", `x=${corral.home}/not there`)
    ])
    assert.match(
      nowhere,
      /^Run run_0+ was not found, or you don't have access to it\. `corral runs` lists .*\(not_found req_/
    )
    assert.match(
      undecided,
      /^Approval apr_0+ was not found, or you don't have access to it\. `corral attach` on its run shows the id\./
    )
    assert.match(noId, /<run>: "first"\. Expected an id like run_01K…\nSee corral attach --help\n$/)
    assert.match(noTime, /--timeout: "0"\. Expected a value between 1 and 86400\n/)
    assert.match(noFolder, /^--workspace: folder .*\/not there was not found\. Create it first\.\n$/)
  })

  it("attach follows a run and detaches at Ctrl-C", async () => {
    const run = start("/say here\n/wait")
    await run.line(/^here$/)
    const id = await runIdOf(run)
    const attached = corral.start("attach", id)
    await attached.line(/^here$/)
    attached.child.kill("SIGINT")
    assert.strictEqual(await attached.ended, 130)
    assert.include(attached.stderr, "The run is still in progress.")

    const cancelled = await corral.run("cancel", id)
    assert.strictEqual(cancelled.exit, 0)
    assert.strictEqual(await run.ended, 130)
    const late = await corral.run("attach", id, "--json")
    assert.strictEqual(late.exit, 130)
    assert.strictEqual(JSON.parse(late.out.at(-1) ?? "{}").type, "run.cancelled")
    const { seq } = JSON.parse(late.out.at(-1) ?? "{}")
    assert.deepStrictEqual(await corral.run("attach", id, "--after", String(seq)), {
      exit: 130,
      out: [],
      stderr: ""
    })
  })

  it("preview prints URLs that open once, only on this machine", async () => {
    mkdirSync(note("site"))
    writeFileSync(join(note("site"), "index.html"), "<h1>Home</h1>")
    const run = start("/say here")
    assert.strictEqual(await run.ended, 0)
    const runId = await runIdOf(run)
    const json = async (...args: ReadonlyArray<string>) => {
      const { exit, out, stderr } = await corral.run("preview", ...args, "--json")
      assert.deepStrictEqual([exit, stderr], [0, ""])
      return out.map((line) => JSON.parse(line))
    }
    const textOf = async (...args: ReadonlyArray<string>) => {
      const { exit, out, stderr } = await corral.run("preview", ...args)
      assert.deepStrictEqual({ exit, out }, { exit: 2, out: [] }, stderr)
      return stderr
    }
    const opened = await corral.run("preview", "open", "site", "--run", runId)
    const [address = "", ...more] = opened.out
    assert.deepStrictEqual([opened.exit, more], [0, []], opened.stderr)
    assert.match(
      opened.stderr,
      /^prv_\w+, until .* within a minute in a browser on this machine\. It works once/
    )
    const entered = await fetch(address, { redirect: "manual" })
    assert.isBelow(entered.status, 400)
    assert.strictEqual((await fetch(address)).status, 401)

    const [id = ""] = /^prv_\w+/.exec(opened.stderr) ?? []
    const [[listed], [fresh], [other], nowhere, elsewhere, high] = await Promise.all([
      json("list", runId),
      json("show", id),
      json("open", "9", "--title", "No server"),
      textOf("open", "no/such"),
      textOf("list", runId, "--hub", "https://hub.example"),
      textOf("open", "70000")
    ])
    assert.match(high, /^70000 is not a valid port \(1 to 65535\)\./)
    assert.deepInclude(listed, { id, runId, title: "site", source: { kind: "folder", path: "site" } })
    assert.notStrictEqual(fresh.url, address)
    assert.isBelow((await fetch(fresh.url, { redirect: "manual" })).status, 400)
    assert.deepInclude(other, { title: "No server", state: "unreachable", workspace: "sample" })
    assert.match(nowhere, /^Folder no\/such was not found in workspace sample\. \(not_found req_/)
    assert.match(
      elsewhere,
      /^Previews open on the device itself\. Run this command there, without --hub and --project\.\n$/
    )

    const closed = await corral.run("preview", "close", id)
    assert.deepStrictEqual(closed, { exit: 0, out: [`closed: ${id}`], stderr: "" })
    assert.match(
      await textOf("show", id),
      /^Preview prv_\w+ was not found or is closed\. Open a new one with `corral preview open`\./
    )
  })

  it("doctor reports the machine with and without an Edge", async () => {
    const { exit, out } = await corral.run("doctor", "--json")
    const found = JSON.parse(out.join(""))
    assert.deepStrictEqual([exit, found.edge.running, found.edge.url], [0, true, url])
    const agent = (id: string) => found.agents.find((each: { id: string }) => each.id === id)
    assert.isTrue(agent("scripted").available)
    const claude = agent("claude-code")
    assert.deepStrictEqual(
      [claude.version, claude.signedIn, claude.reason],
      ["2.1.329", false, "not_signed_in"]
    )
    assert.match(claude.path, /\/fixtures\/bin\/claude$/)
    assert.isTrue(found.disk.ok)
    assert.includeMembers(
      found.runners.map((each: { id: string }) => each.id),
      ["aider", "goose", "llm"]
    )

    // Written while the Edge runs.
    const file = join(corral.home, "edge.config.json")
    const profile = { id: "careful", label: "Careful", adapter: "scripted", mode: "ask" }
    writeFileSync(file, JSON.stringify({ profiles: [profile] }))
    const shown = await corral.run("doctor")
    assert.match(shown.out.join("\n"), /Profiles\n {2}✓ careful +Careful \d/)
    writeFileSync(file, JSON.stringify({ profiles: [{ ...profile, mod: "ask" }] }))
    const spoilt = await corral.run("doctor")
    assert.strictEqual(spoilt.exit, 1)
    assert.match(spoilt.out.join("\n"), /✗ Configuration .*profiles\.0\.mod: Not a field/)
    rmSync(file)

    const nowhere = new Corral()
    try {
      const plain = await nowhere.run("doctor")
      assert.strictEqual(plain.exit, 0)
      assert.match(plain.out.join("\n"), /No Edge is running on this machine\.[^]*✓ scripted/)
      mkdirSync(nowhere.home, { mode: 0o700 })
      writeFileSync(join(nowhere.home, "edge.config.json"), "{")
      const spoilt = await nowhere.run("doctor")
      assert.strictEqual(spoilt.exit, 1)
      assert.match(spoilt.out.join("\n"), /It can't start: .*it is not JSON\.\n[^]*✓ scripted/)
      const { exit, out, stderr } = await nowhere.run("runs")
      assert.deepStrictEqual({ exit, out }, { exit: 2, out: [] })
      assert.match(stderr, /^No Edge is running on this machine\. Start one with `[^`]+ up`\.\n$/)
    } finally {
      await nowhere.close()
    }
  })

  it("exit with 1 if the output can't be written or its reader has closed it", async () => {
    const shell = (script: string, ...args: ReadonlyArray<string>) =>
      corral.spawn("bash", ["-c", script, "bash", process.execPath, program, ...args])
    const full = shell('"$@" >/dev/full', "doctor", "--json")
    // A command notices a closed reader only when it writes, so the run writes continuously.
    const more = "\n/sleep 300\n/say more".repeat(50)
    const unread = shell('"$@" | head -1; exit ${PIPESTATUS[0]}', ...run, `/say here${more}\n/wait`)
    const few = shell('"$@" | head -1; exit ${PIPESTATUS[0]}', "--help")
    assert.strictEqual(await full.ended, 1)
    assert.match(full.stderr, /^Can't write the output: ENOSPC/)
    assert.strictEqual(await few.ended, 0)
    assert.strictEqual(await unread.ended, 1)
    const id = await runIdOf(unread)
    assert.include(unread.stderr, "The output was closed. The run is still in progress. ")
    assert.include(unread.stderr, `cancel ${id}\``)
    assert.strictEqual((await corral.run("cancel", id)).exit, 0)
  })

  it("normalize reads a recording from a file or stdin and validates the agent", async () => {
    const recording = new URL(
      "../../../adapters/test/fixtures/claude-code/shell-command/stdout.jsonl",
      import.meta.url
    )
    const claude = ["normalize", "--agent", "claude-code"]
    const missing = join(corral.home, "missing")
    const [existing, file, folder, nothing, unknown] = await Promise.all([
      corral.feed(readFileSync(recording, "utf8"), ...claude),
      corral.run(...claude, fileURLToPath(recording)),
      corral.run(...claude, corral.home),
      corral.run(...claude, missing),
      corral.feed("", "normalize", "--agent", "unknown\u001b[31m")
    ])
    assert.strictEqual(existing.exit, 0)
    assert.strictEqual(JSON.parse(existing.out.at(-1) ?? "{}").type, "run.completed")
    assert.deepStrictEqual(file, existing)
    assert.deepStrictEqual(folder, {
      exit: 2,
      out: [],
      stderr: `Can't read ${corral.home}: it is a folder.\n`
    })
    assert.deepStrictEqual([nothing.exit, nothing.out], [2, []])
    assert.match(nothing.stderr, /^Can't read .*\/missing: ENOENT/)
    assert.notInclude(unknown.stderr, "\u001b")
    assert.deepStrictEqual([unknown.exit, unknown.out], [2, []])
    assert.include(unknown.stderr, "claude-code")
  })
})

describe("shutdown", () => {
  it("has exit code 0 at SIGTERM and at SIGINT", async () => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      const other = new Corral()
      try {
        const { edge } = await other.up("--workspace", `here=${other.environment["HOME"] ?? "/"}`)
        edge.child.kill(signal)
        assert.strictEqual(await edge.ended, 0)
        assert.isFalse(existsSync(join(other.home, "edge.json")))
        // A workspace was given, so no sample is created.
        assert.isFalse(existsSync(join(other.home, "sample")))
      } finally {
        await other.close()
      }
    }
  })
})

describe("a closed terminal", () => {
  const script = "/usr/bin/script"

  it.skipIf(!existsSync(script))("shuts its command down cleanly", async () => {
    const other = new Corral()
    try {
      const command = `'${process.execPath}' '${program}' up --edge-only`
      const terminal = other.spawn(script, ["-qec", command, "/dev/null"])
      await terminal.line(/Corral is running/)
      const { pid } = JSON.parse(readFileSync(join(other.home, "edge.json"), "utf8"))
      process.kill(pid, "SIGHUP")
      assert.strictEqual(await terminal.ended, 0)
      assert.isFalse(existsSync(join(other.home, "edge.json")))
    } finally {
      await other.close()
    }
  })
})

describe("a killed Edge", () => {
  it("is located again after a restart, and the run's end is shown", async () => {
    const other = new Corral()
    try {
      const first = await other.up()
      const run = other.start("run", "--agent", "scripted", "--workspace", "sample", "/say here\n/wait")
      await run.line(/^here$/)
      first.edge.child.kill("SIGKILL")
      await first.edge.ended
      await other.up()
      assert.strictEqual(await run.ended, 1)
      await run.line(/^failed/)
      assert.strictEqual(run.out.filter((line) => line === "here").length, 1)
      assert.strictEqual(run.stderr, "Connection lost. Reconnecting.\nReconnected.\n")
    } finally {
      await other.close()
    }
  })
})

const oldNode = ["/usr/bin/node", "/usr/local/bin/node"].find((node) => {
  const [major = 99] = existsSync(node)
    ? execFileSync(node, ["-p", "process.versions.node"], { encoding: "utf8" }).split(".").map(Number)
    : []
  return major < 22
})

describe("the launcher", () => {
  const service = fileURLToPath(new URL("../../../../dist/corral", import.meta.url))

  it.skipIf(oldNode === undefined)("runs the service on the installed Node and ends with it", async () => {
    const other = new Corral()
    try {
      const edge = other.spawn(oldNode ?? "", [service, "up", "--edge-only"])
      await edge.line(/"ready":true/)
      const { pid } = JSON.parse(readFileSync(join(other.home, "edge.json"), "utf8"))
      assert.notStrictEqual(pid, edge.child.pid)
      edge.child.kill("SIGTERM")
      assert.strictEqual(await edge.ended, 0)
    } finally {
      await other.close()
    }
  })

  it.skipIf(oldNode === undefined)("ends its service when it is killed", async () => {
    const other = new Corral()
    try {
      const edge = other.spawn(oldNode ?? "", [service, "up", "--edge-only"])
      await edge.line(/"ready":true/)
      edge.child.kill("SIGKILL")
      // The service holds the pipe of stdout: it closes when the service has ended too.
      assert.strictEqual(await edge.ended, "SIGKILL")
      assert.isFalse(existsSync(join(other.home, "edge.json")))
    } finally {
      await other.close()
    }
  })
})
