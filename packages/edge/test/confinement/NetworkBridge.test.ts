import { assert, describe, it } from "@effect/vitest"
import { until } from "@corral/testing/time/Until"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { Duplex } from "node:stream"
import { bridgedCommand } from "../../src/confinement/NetworkBridge.ts"

/** The program with a bridge of this network, and descriptor 3. */
const start = (...program: ReadonlyArray<string>): ChildProcess => {
  const [file = "", ...args] = program
  const command = bridgedCommand("/nowhere/socat", [], { file, args })
  return spawn(command.file, command.args, { stdio: ["pipe", "pipe", "pipe", "pipe"] })
}

const channelOf = ({ stdio }: ChildProcess): Duplex => {
  const channel = stdio[3]
  if (!(channel instanceof Duplex)) throw new Error("it has no descriptor 3")
  return channel
}

const outputOf = async (child: ChildProcess): Promise<string> => {
  let output = ""
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (output += text))
  await once(child, "close")
  return output
}

/** Not one that has ended and that its parent has not waited for. */
const isAlive = (pid: string): boolean => {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch {
    return false
  }
}

describe.skipIf(process.platform !== "linux")("bridgedCommand", () => {
  it("gives the program descriptors 0 to 2 only", async () => {
    const output = await outputOf(start("/bin/sh", "-c", "[ -e /proc/$$/fd/3 ] && echo leaked; echo end"))
    assert.strictEqual(output, "end\n")
  })

  it("keeps the program's stdin, output and exit code", async () => {
    const child = start("/bin/sh", "-c", 'read -r line; echo "$line"; exit 7')
    child.stdin?.end("hello\n")
    assert.strictEqual(await outputOf(child), "hello\n")
    assert.strictEqual(child.exitCode, 7)
  })

  it("names the connections to ports without a listener", async () => {
    const child = start("/bin/cat")
    const channel = channelOf(child)
    // Port 1 has no listener on machines that run tests.
    channel.write("port7 1 0001\n")
    assert.strictEqual(String(((await once(channel, "data")) as [Buffer])[0]), "port7\n")
    child.stdin?.end()
    await once(child, "exit")
  })

  it("leaves no process", async () => {
    const child = start("/bin/cat")
    const children = `/proc/${child.pid}/task/${child.pid}/children`
    const pids = await until(async () => {
      const found = readFileSync(children, "utf8").trim().split(" ")
      return found.length === 2 ? found : undefined
    }, "the program and the relay")
    child.stdin?.end()
    await once(child, "exit")
    await until(async () => (pids.some(isAlive) ? undefined : true), "their ends")
  })
})
