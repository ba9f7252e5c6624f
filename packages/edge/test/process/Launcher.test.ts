import { groupsHere } from "@corral/testing/edge/Survivors"
import { until } from "@corral/testing/time/Until"
import { afterEach, assert, describe, it } from "@effect/vitest"
import { randomUUID } from "node:crypto"
import { existsSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import type { Duplex } from "node:stream"
import { removeGroup } from "../../src/process/ControlGroup.ts"
import { endLauncher, Launcher, launchScript, PreparedLauncher } from "../../src/process/Launcher.ts"
import { Subprocess, type SubprocessSpec } from "../../src/process/Subprocess.ts"
import { openFolder } from "../Folder.ts"

const started: Array<Launcher> = []
afterEach(async () => {
  for (const launcher of started.splice(0)) await endLauncher(launcher)
})

const readyLauncher = async (group?: string): Promise<Launcher> => {
  const launcher = Launcher.start(group)
  assert.isDefined(launcher)
  started.push(launcher)
  await until(async () => (launcher.isReady ? true : undefined), "the launcher")
  return launcher
}

/** What a program sees of its start. */
const report = `
  const { readFileSync } = require("node:fs")
  let input = ""
  process.stdin.on("data", (text) => (input += text)).on("end", () =>
    console.log(JSON.stringify({
      input,
      args: process.argv.slice(1),
      cwd: process.cwd(),
      env: process.env,
      leader: Number(readFileSync("/proc/self/stat", "utf8").split(" ")[5]) === process.pid,
      group: /^0::(.*)$/m.exec(readFileSync("/proc/self/cgroup", "utf8"))?.[1]
    }))
  )
`
const ODD = ["", "two words", "it's", '"$HOME" `id` \\', "two\nlines", "-x", "ä"]

const run = (
  spec: Pick<SubprocessSpec, "launcher"> & Partial<SubprocessSpec>,
  input = ""
): Promise<Record<string, unknown>> =>
  new Promise((resolve, reject) => {
    let output = ""
    const child = new Subprocess(
      { file: process.execPath, args: ["-e", report], cwd: "/", env: {}, stdin: "pipe", ...spec },
      {
        onChunk: (chunk) => (output += chunk.toString("utf8")),
        onEnd: ({ code, stderr }) => (code === 0 ? resolve(JSON.parse(output)) : reject(new Error(stderr))),
        onSpawnError: reject
      }
    )
    child.write(input)
    child.closeInput()
  })

describe("Launcher", () => {
  it("becomes the program, with the arguments, variables and folder of the command and no others", async () => {
    const cwd = join(openFolder(), "it's a folder")
    mkdirSync(cwd)
    const spec = {
      args: ["-e", report, "--", ...ODD],
      cwd,
      env: { A: "it's", B_c: "two\nlines", _d: "$A", PWD: cwd, E: "x".repeat(100_000), LC_ALL: "xx_XX" }
    }
    const seen = await run({ ...spec, launcher: await readyLauncher() }, "typed")
    assert.deepStrictEqual(seen, await run({ ...spec, launcher: undefined }, "typed"))
    assert.deepStrictEqual(seen["args"], ODD)
    assert.deepStrictEqual(seen["env"], spec.env)
    assert.deepInclude(seen, { input: "typed", leader: true })
  })

  it("names variables and values in no command line", async () => {
    const command = { file: "/bin/true", args: [], cwd: "/", hasStdin: false, hasControl: false }
    const script = launchScript({ ...command, env: { KEY: "a-secret" } })
    assert.notInclude(script.slice(script.indexOf("exec ")), "a-secret")
  })

  it.each([{ "b.c": "1" }, { "-d": "1" }, { UID: "7" }, { OPTIND: "x" }])(
    "ends and is not used where a shell would not pass the variables: %j",
    async (env: Readonly<Record<string, string>>) => {
      const launcher = await readyLauncher()
      assert.deepInclude(await run({ env, launcher }), { env })
      await until(async () => (launcher.hasExited ? true : undefined), "the end of the launcher")
    }
  )

  it("gives a program without stdin the end of its input", async () => {
    assert.deepInclude(await run({ stdin: "ignore", launcher: await readyLauncher() }), { input: "" })
  })

  it.each([true, false])("gives the program no other descriptors, with a channel: %s", async (hasChannel) => {
    const received = Promise.withResolvers<string>()
    const script = `
      for fd in 3 4 5; do [ -e /proc/$$/fd/$fd ] && open="$open$fd"; done
      echo "{\\"open\\":\\"$open\\"}"
      if [ -n "$open" ]; then echo hello >&3; fi`
    const control = (channel: Duplex) =>
      channel.on("data", (bytes: Buffer) => received.resolve(bytes.toString()))
    const seen = await run({
      file: "/bin/sh",
      args: ["-c", script],
      launcher: await readyLauncher(),
      control: hasChannel ? control : undefined
    })
    assert.deepStrictEqual(seen, { open: hasChannel ? "3" : "" })
    if (hasChannel) assert.strictEqual(await received.promise, "hello\n")
  })

  it("reports a missing folder as a start without it does", async () => {
    const cwd = join(openFolder(), "missing")
    const code = await run({ cwd, launcher: await readyLauncher() }).then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error.code
    )
    assert.strictEqual(code, "ENOENT")
  })

  it("is not used when it has ended", async () => {
    const launcher = await readyLauncher()
    await launcher.discard()
    assert.isFalse(launcher.isReady)
    assert.deepInclude(await run({ launcher }), { input: "" })
  })

  it.skipIf(groupsHere === undefined)("starts the program in its group", async () => {
    const group = join(groupsHere ?? "", `corral-test-${randomUUID()}`)
    const seen = await run({ launcher: await readyLauncher(group) })
    assert.match(String(seen["group"]), new RegExp(`${group.split("/").at(-1)}$`))
    assert.isTrue(removeGroup(group))
  })
})

describe("PreparedLauncher", () => {
  it("prepares a launcher after the first program, and ends it at the close", async () => {
    let latest: Launcher | undefined
    const prepared = new PreparedLauncher(() => (latest = Launcher.start()))
    assert.isUndefined(prepared.take())
    const first = await until(async () => prepared.take(), "the launcher")
    started.push(first)
    const next = await until(async () => (latest === first ? undefined : latest), "the next launcher")
    await prepared.close()
    assert.isTrue(next.hasExited)
    assert.isFalse(first.hasExited)
    assert.isUndefined(prepared.take())
  })

  it.skipIf(groupsHere === undefined)("removes the group of a launcher without a program", async () => {
    const group = join(groupsHere ?? "", `corral-test-${randomUUID()}`)
    await endLauncher(await readyLauncher(group))
    assert.isFalse(existsSync(group))
  })
})
