/** A hostile program against the key of its run. The servers echo what they receive. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { rmSync } from "node:fs"
import { createServer } from "node:https"
import type { AddressInfo } from "node:net"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { makeRunAuthority } from "../../src/network/RunAuthority.ts"
import { Outside, PUBLIC } from "../network/Outside.ts"
import { canConfine } from "./CanConfine.ts"
import { ConfinedCase, type OrdinaryUser } from "./ConfinedCase.ts"
import { users } from "./HostileRun.ts"

/** In no file of this machine. */
const KEY = `sk-ant-real-${randomBytes(16).toString("hex")}`
const program = fileURLToPath(new URL("hostileKeys.mjs", import.meta.url))

const attack = async (user: OrdinaryUser | undefined) => {
  const { certificate, signed } = await makeRunAuthority([["model.test", "echo.test"]], Date.now())
  /** Host, path and key of each request that a server received. */
  const received: Array<string> = []
  const server = createServer({ ...signed[0] }, ({ headers, rawHeaders, url = "" }, response) => {
    received.push(
      `${headers.host} ${url.split("?")[0]} ${rawHeaders.join(" ").includes(KEY) ? "key" : "no key"}`
    )
    const echo = JSON.stringify({ url, rawHeaders })
    if (url === "/gzip") response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(echo))
    else response.writeHead(200, { "x-echo": Buffer.from(echo).toString("latin1") }).end(echo)
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const names = { "model.test": [PUBLIC], "echo.test": [PUBLIC] }
  const { access } = new Outside((server.address() as AddressInfo).port, names)
  const machine = new ConfinedCase(user, {
    access: { ...access, authorities: [certificate] },
    declared: {
      hosts: ["model.test", "echo.test"],
      keys: [{ variable: "ANTHROPIC_API_KEY", headers: ["x-api-key"], hosts: ["model.test"] }]
    },
    keys: { adapter: "hostile" },
    env: { ANTHROPIC_API_KEY: KEY, COPY_OF_THE_KEY: KEY }
  })
  onTestFinished(async () => {
    await machine.close()
    server.close()
    server.closeAllConnections()
    rmSync(machine.folder, { recursive: true, force: true })
  })
  await machine.open()
  const { found = {}, statuses } = await machine.attack("ask", { program })
  return { found, received, statuses }
}

describe.skipIf(!canConfine)("a hostile program", () => {
  it.each(users)(
    "never sees the key of its run, and sends it only to its service, as %s",
    async (_, user) => {
      const { found, received, statuses } = await attack(user)
      assert.notInclude(found["text"], KEY)
      assert.notInclude(found["text"], Buffer.from(KEY).toString("base64"))
      assert.include(found["text"], found["placeholder"])
      // What the program received for an ordinary request.
      assert.include(found["text"], "*".repeat(KEY.length))
      assert.deepStrictEqual(statuses, {
        ordinary: "200",
        compressed: "403",
        header: "200",
        bearer: "200",
        query: "200",
        twice: "200",
        host: "403",
        hosts: "200",
        absolute: "403",
        smuggled: "400",
        other: "200",
        otherAsModel: "200",
        upgrade: "426"
      })
      assert.deepStrictEqual(received, [
        "model.test /echo key",
        "model.test /gzip key",
        "model.test /echo no key",
        "model.test /echo no key",
        "model.test /echo no key",
        "model.test /echo no key",
        "model.test /echo key",
        "echo.test /echo no key",
        "model.test /echo no key"
      ])
    }
  )
})
