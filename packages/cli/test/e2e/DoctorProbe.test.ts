/** `corral doctor --probe` as a process: it holds here, names what a weaker bubblewrap lets through, and leaves nothing. */
import { probeBubblewrap } from "@corral/edge/confinement/Bubblewrap"
import { systemMounts } from "@corral/edge/confinement/SystemFolders"
import { until } from "@corral/testing/time/Until"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { dirname, join } from "node:path"
import { Corral, program } from "./Corral.ts"

const means = await Effect.runPromise(probeBubblewrap(process.env["PATH"], systemMounts(false)))
const bubblewrap = "program" in means ? means.program : ""

interface Found {
  readonly held: number
  readonly notHeld: number
  readonly notTried: number
  readonly attempts: ReadonlyArray<{
    readonly mode: string
    readonly attempt: string
    readonly outcome: string
  }>
}

/** A machine with a folder for temporary files, which it gives to the command. */
const open = () => {
  const corral = new Corral()
  const home = dirname(corral.home)
  const temporary = join(home, "t")
  const programs = join(home, "programs")
  for (const folder of [temporary, programs, join(home, ".ssh")]) mkdirSync(folder)
  const start = (env: Record<string, string>, ...flags: ReadonlyArray<string>) =>
    corral.spawn(process.execPath, [program, "doctor", "--probe", ...flags], { TMPDIR: temporary, ...env })
  return { corral, home, programs, start, left: () => readdirSync(temporary) }
}

/** Processes whose command line has the text. */
const processesWith = (text: string): ReadonlyArray<string> =>
  readdirSync("/proc").filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, "utf8").includes(text)
    } catch {
      return false
    }
  })

describe.skipIf(bubblewrap === "")("corral doctor --probe", () => {
  it("holds in every mode without a running Edge, in a table and as JSON", async () => {
    const { corral, left, start } = open()
    try {
      const table = await start({}).done
      assert.deepStrictEqual([table.exit, table.stderr], [0, ""])
      assert.match(table.out[0] ?? "", /^ +read_only +plan +ask +auto_edit$/)
      assert.match(table.out.join("\n"), /\n {2}~\/\.ssh +held +held +held +held\n/)
      assert.match(table.out.join("\n"), /\nThe confinement held: all \d+ attempts in 4 modes failed\./)
      assert.notInclude(table.out.join("\n"), "NOT HELD")

      const json = await start({}, "--json").done
      const found: Found = JSON.parse(json.out.join(""))
      assert.deepStrictEqual([json.exit, found.notHeld], [0, 0])
      assert.isAbove(found.held, 250)
      assert.strictEqual(found.attempts.length, found.held + found.notTried)
      assert.deepStrictEqual(left(), [])
    } finally {
      await corral.close()
    }
  })

  it("names what a bubblewrap lets through that shows more, and exits with 1", async () => {
    const { corral, home, left, programs, start } = open()
    try {
      const wrapper = join(programs, "bwrap")
      const secret = join(home, ".ssh")
      writeFileSync(
        wrapper,
        `#!/bin/sh
for word; do
  shift
  [ "$word" = --chdir ] && [ -z "$done" ] && done=1 && set -- "$@" --ro-bind '${secret}' '${secret}'
  set -- "$@" "$word"
done
exec '${bubblewrap}' "$@"
`
      )
      chmodSync(wrapper, 0o755)
      const env = { PATH: `${programs}:${corral.environment["PATH"]}` }
      const table = await start(env).done
      assert.strictEqual(table.exit, 1, table.stderr)
      assert.match(table.out.join("\n"), /\n {2}~\/\.ssh +NOT HELD +NOT HELD +NOT HELD +NOT HELD\n/)
      assert.match(table.out.join("\n"), /\nThe confinement did not hold: 4 of \d+ attempts got through\./)

      const json = await start(env, "--json").done
      const { attempts, notHeld }: Found = JSON.parse(json.out.join(""))
      assert.deepStrictEqual([json.exit, notHeld], [1, 4])
      const names = attempts.flatMap(({ attempt, outcome }) => (outcome === "not_held" ? [attempt] : []))
      assert.deepStrictEqual(new Set(names), new Set(["~/.ssh"]))
      assert.deepStrictEqual(left(), [])
    } finally {
      await corral.close()
    }
  })

  it.each(["SIGINT", "SIGTERM"] as const)("leaves nothing after %s", async (signal) => {
    const { corral, home, left, start } = open()
    try {
      const isInSecondMode = () => left().some((name) => existsSync(join(home, "t", name, "plan")))
      const interrupted = async () => {
        const running = start({})
        const hasEnded = () => running.child.exitCode !== null
        await until(async () => isInSecondMode() || hasEnded() || undefined, "the second mode")
        running.child.kill(signal)
        return { exit: await running.ended, out: running.out }
      }
      let result = await interrupted()
      // One that was over before the signal came is no test of it.
      for (let more = 4; result.exit === 0 && more > 0; more--) result = await interrupted()
      assert.deepStrictEqual(result, { exit: signal === "SIGINT" ? 130 : 143, out: [] })
      assert.deepStrictEqual(left(), [])
      await until(
        async () => processesWith(join(home, "t")).length === 0 || undefined,
        "the end of its processes"
      )
    } finally {
      await corral.close()
    }
  })
})

describe.skipIf(process.platform !== "linux")("corral doctor --probe without its means", () => {
  it("says in one line what to install, and exits with 2", async () => {
    const { corral, left, programs, start } = open()
    try {
      const missing = await start({ PATH: programs }).done
      assert.deepStrictEqual([missing.exit, missing.out], [2, []])
      assert.match(
        missing.stderr,
        /^bubblewrap is not installed\. Install the packages bubblewrap and socat\.[^\n]*\n$/
      )
      if (bubblewrap !== "") {
        symlinkSync(bubblewrap, join(programs, "bwrap"))
        const bridge = await start({ PATH: programs }, "--json").done
        assert.deepStrictEqual([bridge.exit, bridge.out], [2, []])
        assert.match(
          bridge.stderr,
          /^socat is not installed\. Install the packages bubblewrap and socat\.[^\n]*\n$/
        )
      }
      assert.deepStrictEqual(left(), [])
    } finally {
      await corral.close()
    }
  })

  it("is in the help of the command", async () => {
    const corral = new Corral()
    try {
      const { exit, out } = await corral.run("doctor", "--help")
      assert.strictEqual(exit, 0)
      assert.match(out.join("\n"), /--probe\s+Test the confinement/)
    } finally {
      await corral.close()
    }
  })
})
