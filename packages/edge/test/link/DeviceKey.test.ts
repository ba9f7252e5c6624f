import { PublicKey } from "@corral/domain/device/Device"
import type { DeviceId } from "@corral/domain/identity/Ids"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { createPublicKey, verify } from "node:crypto"
import { chmodSync, readdirSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import {
  type DeviceFile,
  newPrivateKey,
  publicKeyOf,
  readDevice,
  signText,
  stampOf,
  writeDevice
} from "../../src/link/DeviceKey.ts"
import { temporaryFolder } from "../Folder.ts"

const deviceOf = (): DeviceFile => ({
  hub: "https://corral.example",
  deviceId: "dev_00000000000000000000000000" as DeviceId,
  name: "laptop",
  privateKey: newPrivateKey()
})

describe("the device's key", () => {
  it("signs what its public key verifies", () => {
    const key = newPrivateKey()
    const x = publicKeyOf(key)
    assert.isTrue(Schema.is(PublicKey)(x))
    const publicKey = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" })
    const signature = Buffer.from(signText(key, "héllo"), "base64url")
    assert.isTrue(verify(null, Buffer.from("héllo"), publicKey, signature))
    assert.isFalse(verify(null, Buffer.from("hello"), publicKey, signature))
  })

  it.effect("is kept in a file of its owner's, written whole, and read back", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const file = join(folder, "home", "device.json")
      assert.isUndefined(yield* readDevice(file))
      const device = deviceOf()
      yield* writeDevice(file, device)
      assert.strictEqual(statSync(file).mode & 0o777, 0o600)
      assert.strictEqual(statSync(join(folder, "home")).mode & 0o777, 0o700)
      assert.deepStrictEqual(yield* readDevice(file), device)
      const before = stampOf(file)
      const next = { ...device, next: { privateKey: newPrivateKey() } }
      yield* writeDevice(file, next)
      assert.notStrictEqual(stampOf(file), before)
      assert.deepStrictEqual(yield* readDevice(file), next)
      assert.deepStrictEqual(readdirSync(join(folder, "home")), ["device.json"])
    })
  )

  it.effect("is not used where the file is open to others or damaged, and never told", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "device.json")
      const device = deviceOf()
      yield* writeDevice(file, device)
      chmodSync(file, 0o640)
      const open = yield* Effect.flip(readDevice(file))
      assert.strictEqual(open.message, `${file} can be read by others: chmod 600 it`)
      chmodSync(file, 0o600)
      for (const text of [
        "",
        "{",
        "[]",
        JSON.stringify({ ...device, privateKey: `${device.privateKey.slice(1)}` })
      ]) {
        writeFileSync(file, text)
        const { message } = yield* Effect.flip(readDevice(file))
        assert.strictEqual(message, `${file} is damaged: delete it, and join the Hub again`)
      }
    })
  )
})
