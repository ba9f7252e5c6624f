import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { freePort } from "@corral/testing/postgres/PostgresServer"
import { until } from "@corral/testing/time/Until"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { type AddressInfo, createServer } from "node:net"
import { Duplex } from "node:stream"
import { bridgedCommand, bridgeVariables } from "../../src/confinement/NetworkBridge.ts"
import { canConfine } from "./CanConfine.ts"

/** The program with a bridge of this network, and descriptor 3. */
const start = (...program: ReadonlyArray<string>): ChildProcess => startWith([], ...program)

const startWith = (ports: ReadonlyArray<number>, ...program: ReadonlyArray<string>): ChildProcess => {
  const [file = "", ...args] = program
  const sockets = ports.map((port) => ({ port, socket: "nowhere" }))
  const command = bridgedCommand("socat", sockets, { file, args })
  const child = spawn(command.file, command.args, { stdio: ["pipe", "pipe", "pipe", "pipe"], detached: true })
  onTestFinished(() => endGroup(child))
  return child
}

/** Relays of open connections outlive the bridge where no namespace ends them. */
const endGroup = ({ pid }: ChildProcess): void => {
  if (pid === undefined) return
  try {
    process.kill(-pid, "SIGKILL")
  } catch {
    // Nothing is left.
  }
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

describe("bridgeVariables", () => {
  it("contain that of Node, unless the runtime does not connect", () => {
    const { NODE_USE_ENV_PROXY: node, ...others } = bridgeVariables(undefined)
    assert.strictEqual(node, "1")
    assert.deepStrictEqual(bridgeVariables({ hosts: [] }), { ...others, NODE_USE_ENV_PROXY: "1" })
    assert.deepStrictEqual(bridgeVariables({ hosts: [], isNodeClient: false }), others)
  })
})

describe.skipIf(process.platform !== "linux")("bridgedCommand", () => {
  it("gives the program descriptors 0 to 2 only", async () => {
    const output = await outputOf(
      start(
        "/bin/sh",
        "-c",
        "for fd in 3 5 6 10; do [ -e /proc/$$/fd/$fd ] && echo leaked $fd; done; echo end"
      )
    )
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

/** Connects sooner after its start than socat listens. */
const connectsAtOnce = (ports: ReadonlyArray<number>): ReadonlyArray<string> => [
  "/bin/bash",
  "-c",
  `${ports.map((port) => `: </dev/tcp/127.0.0.1/${port}`).join(" && ")} && echo connected`
]

describe.skipIf(!canConfine)("bridgedCommand with socat", () => {
  it("listens on all ports before the program starts", async () => {
    for (let round = 0; round < 20; round++) {
      const ports = [await freePort(), await freePort()]
      const child = startWith(ports, ...connectsAtOnce(ports))
      assert.strictEqual(await outputOf(child), "connected\n")
    }
  })

  it("accepts more connections after its first", async () => {
    const port = await freePort()
    const child = startWith([port], ...connectsAtOnce(Array.from({ length: 10 }, () => port)))
    assert.strictEqual(await outputOf(child), "connected\n")
  })

  it("does not start the program if a port is not free", async () => {
    const server = createServer().listen(0, "127.0.0.1")
    onTestFinished(() => void server.close())
    await once(server, "listening")
    const { port } = server.address() as AddressInfo
    // The port has another listener, so the list of the kernel contains it.
    const child = startWith([port], "/bin/echo", "started")
    assert.strictEqual(await outputOf(child), "")
    assert.strictEqual(child.exitCode, 1)
  })
})
