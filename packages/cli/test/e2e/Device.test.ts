import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { until } from "@corral/testing/time/Until"
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { LinkPeer } from "@corral/testing/edge/LinkPeer"
import type { HubClient } from "@corral/testing/hub/HubClient"
import { HubProcess } from "@corral/testing/hub/HubProcess"
import { Corral } from "./Corral.ts"

interface DeviceOfHub {
  readonly id: string
  readonly name: string
  readonly publicKey: string
}

describe("corral device", () => {
  const hub = new HubProcess()
  let ada: HubClient
  beforeAll(async () => {
    await hub.start()
    ada = await hub.signedIn("ada")
  })
  afterAll(() => hub.remove())

  const withCorral = async (use: (corral: Corral) => Promise<void>): Promise<void> => {
    const corral = new Corral()
    try {
      await use(corral)
    } finally {
      await corral.close()
    }
  }
  const joinToken = async (): Promise<string> => {
    const answer = await ada.ask<{ readonly token: string }>("POST", "/client/devices/join-tokens", {
      body: {}
    })
    return answer.body.token
  }
  const devices = async () => {
    const answer = await ada.ask<{ readonly items: ReadonlyArray<DeviceOfHub> }>("GET", "/client/devices")
    return answer.body.items
  }
  const fileOf = (corral: Corral) => join(corral.home, "device.json")

  it("joins once with a token from stdin or a file, and deletes its key when it leaves", () =>
    withCorral(async (corral) => {
      const token = await joinToken()
      const args = ["--hub", `${hub.url}/`, "--token-file", "-", "--name", "laptop"]
      const joined = await corral.feed(`${token}\n`, "device", "join", ...args)
      assert.deepStrictEqual([joined.exit, joined.stderr], [0, ""])
      assert.match(joined.out[0] ?? "", /^This machine has joined as laptop \(dev_\w+\) at http:\/\/127/)
      assert.notInclude(joined.out.join(), token)
      const file = fileOf(corral)
      assert.strictEqual(statSync(file).mode & 0o777, 0o600)
      const { deviceId, hub: address, privateKey } = JSON.parse(readFileSync(file, "utf8"))
      assert.strictEqual(address, hub.url)
      const [device] = (await devices()).filter(({ id }) => id === deviceId)
      assert.strictEqual(device?.name, "laptop")

      const status = await corral.run("device", "status")
      assert.strictEqual(status.exit, 0)
      assert.match(status.out.join("\n"), /laptop .*\nLink: No Edge is running on this machine/)
      const again = await corral.run("device", "join", "--hub", hub.url, "--token", "x")
      assert.match(again.stderr, /already joined as .* Run `corral device leave` first/)
      assert.strictEqual(again.exit, 2)

      assert.strictEqual((await corral.run("device", "leave")).exit, 2, "no terminal for the confirmation")
      assert.isTrue(existsSync(file))
      assert.strictEqual((await corral.run("device", "leave", "--yes")).exit, 0)
      assert.isFalse(existsSync(file))
      const used = join(dirname(corral.home), "token")
      writeFileSync(used, token, { mode: 0o600 })
      const second = await corral.run("device", "join", "--hub", hub.url, "--token-file", used)
      assert.strictEqual(second.exit, 2)
      assert.match(second.stderr, /unauthorized|permission_denied/)
      assert.notInclude(second.stderr + status.out.join() + again.stderr, privateKey)
      assert.notInclude(second.stderr, token)
    }))

  it("joins without a token by a temporary sign-in", () =>
    withCorral(async (corral) => {
      const before = await devices()
      const running = corral.start("device", "join", "--hub", hub.url, "--name", "desk")
      const codeOf = () => /shows the code ([A-Z]{4}-[A-Z]{4})/.exec(running.stderr)?.[1]
      while (codeOf() === undefined && running.child.exitCode === null)
        await new Promise((resolve) => running.child.stderr?.once("data", resolve))
      const body = { userCode: codeOf(), decision: "allow" }
      const browser = await hub.atBrowser("ada")
      assert.strictEqual((await browser.ask("POST", "/client/auth/device/approve", { body })).status, 204)
      assert.strictEqual(await running.ended, 0, running.stderr)
      const added = (await devices()).filter(({ id }) => !before.some((earlier) => earlier.id === id))
      assert.deepStrictEqual(
        added.map(({ name }) => name),
        ["desk"]
      )
      const text = running.out.join() + running.stderr + readFileSync(fileOf(corral), "utf8")
      assert.notMatch(text, /corral_[a-z]_/, "no token is shown or kept")
    }))

  it("sends nothing to a remote Hub without TLS", () =>
    withCorral(async (corral) => {
      const { exit, stderr } = await corral.run(
        "device",
        "join",
        "--hub",
        "http://198.51.100.1",
        "--token",
        "x"
      )
      assert.strictEqual(exit, 2)
      assert.match(stderr, /needs https/)
    }))

  it("rotates its key over the link of the local Edge", () =>
    withCorral(async (corral) => {
      const peer = new LinkPeer()
      await peer.open()
      try {
        await peer.join(corral.home)
        await corral.up()
        await peer.linked()
        // The Edge hears it after its peer.
        await until(async () => {
          const { out } = await corral.run("device", "status")
          return /Link: linked/.test(out.join("\n")) || undefined
        }, "the link at the Edge")
        const before = readFileSync(fileOf(corral), "utf8")
        const rotated = await corral.run("device", "rotate")
        assert.deepStrictEqual([rotated.exit, rotated.stderr], [0, ""])
        assert.notStrictEqual(readFileSync(fileOf(corral), "utf8"), before)
        const status = await corral.run("device", "status")
        assert.match(status.out.join("\n"), /Link: linked since 2/)
        const doctor = await corral.run("doctor")
        assert.match(doctor.out.join("\n"), /✓ Hub http:\/\/127\S+: linked as dev_/)
      } finally {
        await peer.end()
      }
    }))
})
