import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { addressKind } from "../../src/network/NetworkTarget.ts"

const Byte = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))
const Address4 = Schema.Tuple([Byte, Byte, Byte, Byte])
const Group = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 65_535 }))
const Groups = Schema.Tuple([Group, Group, Group, Group, Group, Group, Group])

/** Ranges of the registry, written independently of the module. */
const isPublic4 = ([a, b, c, d]: readonly [number, number, number, number]): boolean => {
  if (a === 0 || a === 10 || a === 127 || a >= 224) return false
  if (a === 100 && b >= 64 && b < 128) return false
  if (a === 169 && b === 254) return false
  if (a === 172 && b >= 16 && b < 32) return false
  if (a === 192 && (b === 168 || (b === 0 && (c === 0 || c === 2)) || (b === 88 && c === 99))) return false
  if (a === 198 && (b === 18 || b === 19 || (b === 51 && c === 100))) return false
  if (a === 203 && b === 0 && c === 113) return false
  return !(a === 168 && b === 63 && c === 129 && d === 16)
}

const hex = (groups: ReadonlyArray<number>): string => groups.map((group) => group.toString(16)).join(":")

describe("addressKind", () => {
  it.prop("is public for exactly the addresses of the internet", [Address4], ([bytes]) => {
    assert.strictEqual(addressKind(bytes.join(".")) === "public", isPublic4(bytes))
  })

  it.prop("is never public for an address that contains another one", [Address4], ([bytes]) => {
    const [a, b, c, d] = bytes
    const inside = hex([a * 256 + b, c * 256 + d])
    for (const prefix of ["::ffff:", "::", "::ffff:0:", "64:ff9b::", "64:ff9b:1::"])
      assert.notStrictEqual(addressKind(`${prefix}${inside}`), "public", prefix)
    assert.notStrictEqual(addressKind(`2002:${inside}::1`), "public")
    assert.notStrictEqual(addressKind(`2001:0:${inside}::1`), "public")
  })

  it.prop("is public in IPv6 for global unicast addresses only", [Group, Groups], ([first, rest]) => {
    const isGlobal = first >= 0x2000 && first < 0x4000
    if (!isGlobal) assert.notStrictEqual(addressKind(hex([first, ...rest])), "public")
  })

  it.each([
    ["169.254.169.254", "reserved"],
    ["100.100.100.200", "reserved"],
    ["168.63.129.16", "reserved"],
    ["fd00:ec2::254", "reserved"],
    ["fe80::1", "reserved"],
    ["fe80::1%eth0", "reserved"],
    ["ff02::1", "reserved"],
    ["::", "reserved"],
    ["0.0.0.0", "reserved"],
    ["255.255.255.255", "reserved"],
    ["2001:db8::1", "reserved"],
    ["not an address", "reserved"],
    ["::1", "loopback"],
    ["127.1.2.3", "loopback"],
    ["10.0.0.1", "private"],
    ["fd12::1", "private"],
    ["2606:4700::1111", "public"],
    ["1.1.1.1", "public"]
  ])("is right for %s", (address, kind) => assert.strictEqual(addressKind(address), kind))
})
