/**
 * What a new user's terminals show from `corral up` to the first approved run, through wrong input and a killed service: sentences, no logs, no
 * JSON, no warnings and no times for machines. On each kind of machine that this one can be: as root and as another user, with and without
 * bubblewrap, with installed agents and without, on each Node that it has.
 */
import { hasTerminals, type TerminalProgram } from "@corral/testing/process/TerminalProgram"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs"
import { delimiter, dirname, join } from "node:path"
import { until, within } from "@corral/testing/time/Until"
import { Corral, type Machine, players } from "./Corral.ts"

/** Lines that are for programs or for operators. */
const NOISE = [
  /[{[]"/,
  /\blevel=|\btimestamp=/,
  /\d{4}-\d\d-\d\dT\d\d/,
  /^\s*(?:DEBUG|INFO|WARN|ERROR)\b/,
  /\bwarning\b|\bwarn\b/i,
  /^\s+at .+:\d+:\d+\)?$/
]

const noiseIn = (screen: string): ReadonlyArray<string> =>
  screen.split("\n").filter((line) => NOISE.some((pattern) => pattern.test(line)))

const OTHER_USER = 65_534
const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder.startsWith("/"))

/** Its exit code. A program that does not end is named by its screen. */
const endOf = async (program: TerminalProgram): Promise<number | string> =>
  within(program.ended, 60_000, "the end of the program").catch((cause: unknown) => {
    throw new Error(`${String(cause)}\n${program.screen}`, { cause })
  })

/** A folder with links to this Node and to all programs but bubblewrap. */
const programsWithoutBubblewrap = (node: string): string => {
  // Also for other users: the folder of the tests is private.
  const bin = mkdtempSync("/tmp/corral-bin-")
  chmodSync(bin, 0o755)
  symlinkSync(node, join(bin, "node"))
  const linked = new Set(["bwrap", "node"])
  for (const folder of folders)
    for (const name of namesIn(folder).filter((name) => !linked.has(name))) {
      linked.add(name)
      symlinkSync(join(folder, name), join(bin, name))
    }
  return bin
}

const namesIn = (folder: string): ReadonlyArray<string> => {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

const majorOf = (node: string): string =>
  execFileSync(node, ["-p", "process.versions.node.split('.')[0]"], { encoding: "utf8" }).trim()

/** Nodes of this machine by major version: the one of the tests, and those of PATH. */
const nodes = new Map([[process.versions.node.split(".")[0] ?? "", process.execPath]])
for (const folder of folders.filter((folder) => namesIn(folder).includes("node"))) {
  const node = join(folder, "node")
  const major = majorOf(node)
  if (!nodes.has(major)) nodes.set(major, node)
}

const asOtherUser = ["setpriv", `--reuid=${OTHER_USER}`, `--regid=${OTHER_USER}`, "--clear-groups"]
/** Whether another user can start the built command. */
const canBeOtherUser = (): boolean => {
  try {
    execFileSync("setpriv", [...asOtherUser.slice(1), process.execPath, "-p", "1"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}

interface Kind {
  readonly user: "this user" | "another user"
  readonly bubblewrap: "with bubblewrap" | "without bubblewrap"
  readonly agents: "without agents" | "with agents"
  readonly node: string
}

/** Each pair of properties is in one of them, and each Node. */
const kinds = (): ReadonlyArray<Kind> => {
  const other = process.getuid?.() === 0 && canBeOtherUser() ? "another user" : "this user"
  const [first = "", ...rest] = nodes.keys()
  const [second = first, ...others] = rest
  const pairs: ReadonlyArray<Kind> = [
    { user: "this user", bubblewrap: "with bubblewrap", agents: "without agents", node: first },
    { user: "this user", bubblewrap: "without bubblewrap", agents: "with agents", node: second },
    { user: other, bubblewrap: "with bubblewrap", agents: "with agents", node: second },
    { user: other, bubblewrap: "without bubblewrap", agents: "without agents", node: first }
  ]
  const more = others.map((node): Kind => ({
    user: other,
    bubblewrap: "without bubblewrap",
    agents: "without agents",
    node
  }))
  return [...new Map([...pairs, ...more].map((kind) => [JSON.stringify(kind), kind])).values()]
}

describe.skipIf(!hasTerminals)("the first terminals", () => {
  const linked: Array<string> = []
  const open: Array<Corral> = []
  afterAll(async () => {
    await Promise.all(open.map((corral) => corral.close()))
    for (const folder of linked) rmSync(folder, { recursive: true, force: true })
  })

  const machineOf = ({ agents, bubblewrap, node, user }: Kind): Machine => {
    const program = nodes.get(node) ?? process.execPath
    const hasBubblewrap = bubblewrap === "with bubblewrap"
    const programs = hasBubblewrap ? [dirname(program), ...folders] : [programsWithoutBubblewrap(program)]
    if (!hasBubblewrap) linked.push(...programs)
    return {
      hasDefaultConfinement: true,
      hasLastingRuns: true,
      node: program,
      path: [...(agents === "with agents" ? [players] : []), ...programs].join(delimiter),
      ...(user === "this user" ? {} : { as: { words: asOtherUser, uid: OTHER_USER, gid: OTHER_USER } })
    }
  }

  it.each(kinds())(
    "show only what a new user needs: $user, $bubblewrap, $agents, Node $node",
    async (kind) => {
      const corral = new Corral(machineOf(kind))
      open.push(corral)
      const screens: Array<string> = []
      /** A command in another terminal, to its end. */
      const command = async (...args: ReadonlyArray<string>) => {
        const shown = corral.inTerminal(120, ...args)
        const exit = await endOf(shown)
        screens.push(shown.screen)
        return { exit, screen: shown.screen }
      }
      const start = async (port: string) => {
        const up = corral.inTerminal(120, "up", "--port", port)
        await up.shows(/^Open http:\/\/127\.0\.0\.1:\d+ and sign in as /m, 60_000)
        return up
      }
      const first = await start("0")
      const [, port = ""] = /^Open http:\/\/127\.0\.0\.1:(\d+)/m.exec(first.screen) ?? []
      assert.strictEqual(/^ {2}confinement/m.test(first.screen), kind.bubblewrap === "without bubblewrap")
      const run = corral.inTerminal(120, "run", "-a", "scripted", "-w", "sample", "Read the notes")
      await run.shows(/Allow\? [^\n]*: $/m)
      run.enter("perhaps")
      await run.shows((screen) => screen.split("Allow? ").length === 3)
      run.enter("y")
      assert.strictEqual(await endOf(run), 0, run.screen)

      const device = () => readFileSync(join(corral.home, "own-device.json"), "utf8")
      const deviceBefore = device()
      assert.strictEqual((await command("up", "--port", "0")).exit, 1)
      assert.strictEqual(device(), deviceBefore)
      assert.strictEqual((await command("updo")).exit, 2)
      assert.strictEqual((await command("run", "-a", "nope", "Read the notes")).exit, 2)
      assert.match((await command("runs")).screen, /completed +just now|completed +\d+ min\. ago/)

      const waiting = corral.inTerminal(120, "run", "-a", "scripted", "-w", "sample", "Read the notes")
      await waiting.shows(/Allow\? [^\n]*: $/m)
      first.kill()
      await endOf(first)
      await waiting.shows(/^Connection lost\. Reconnecting\.\nAllow\? /m)
      waiting.enter("y")
      await waiting.shows(/^Can't reach .*\nAllow\? /m)
      const second = await start(port)
      await waiting.shows(/^Reconnected\.\nAllow\? [^\n]*: $/m)
      await until(async () => {
        waiting.enter("y")
        return /^approved by you/m.test(waiting.screen) ? true : undefined
      }, "the decision")
      assert.strictEqual(await endOf(waiting), 0, waiting.screen)
      second.type("\u0003")
      await endOf(second)
      for (const screen of [...screens, ...[first, run, waiting, second].map((each) => each.screen)])
        assert.deepStrictEqual(noiseIn(screen), [], screen)
    }
  )

  it("would show a log line, JSON, a warning or a time for machines", () => {
    const noise = [
      '{"ready":true}',
      'runs are not confined {"problem":"bubblewrap is not installed."}',
      "timestamp=2026-01-01T00:00:00.000Z level=INFO message=ready",
      "  apr_01K, expires 2026-01-01T00:00:00.000Z",
      "warning: anyone can sign in",
      "npm warn EBADENGINE Unsupported engine {"
    ]
    assert.deepStrictEqual(noiseIn(["Corral is running.", ...noise].join("\n")), noise)
  })
})
