/** Requests through generated chains of proxies, with generated headers of the client itself. */
import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import * as fc from "fast-check"
import { effort } from "@corral/testing/time/Effort"
import {
  canonicalAddress,
  clientAddresses,
  clientNetwork,
  elementsFromRight,
  TrustedProxies
} from "../../src/http/ClientAddress.ts"

const trusted = ["10.0.0.0/8", "192.0.2.7", "fd00::/16", "2001:db8:ffff::1", "::1"]
const addressOf = clientAddresses(trusted)

/** One address in several spellings, the first of them canonical. */
type Spellings = readonly [string, ...Array<string>]

const byte = fc.nat(255)
const ipv4 = (first: fc.Arbitrary<number>): fc.Arbitrary<Spellings> =>
  fc.tuple(first, byte, byte, byte).map((bytes) => {
    const text = bytes.join(".")
    const hex = bytes.map((part) => part.toString(16).padStart(2, "0")).join("")
    return [text, `::ffff:${text}`, `::FFFF:${hex.slice(0, 4)}:${hex.slice(4)}`]
  })
const group = fc.integer({ min: 1, max: 0xffff })
const ipv6 = (first: fc.Arbitrary<number>): fc.Arbitrary<Spellings> =>
  fc.tuple(first, group, group, group, group, group, group, group).map((groups) => {
    const texts = groups.map((part) => part.toString(16))
    return [
      texts.join(":"),
      texts.join(":").toUpperCase(),
      texts.map((part) => part.padStart(4, "0")).join(":")
    ]
  })

const proxy = fc.oneof(
  ipv4(fc.constant(10)),
  ipv6(fc.constant(0xfd00)),
  fc.constant<Spellings>(["192.0.2.7"]),
  fc.constant<Spellings>(["2001:db8:ffff::1", "2001:DB8:FFFF:0:0:0:0:1"]),
  fc.constant<Spellings>(["::1", "0:0:0:0:0:0:0:1"])
)
const client = fc.oneof(
  ipv4(fc.integer({ min: 11, max: 191 })),
  ipv6(fc.integer({ min: 0x2002, max: 0x3fff }))
)

const port = fc.integer({ min: 1, max: 65_535 })
/** As a proxy may write a hop into `X-Forwarded-For`. */
const written = (spellings: Spellings) =>
  fc
    .tuple(fc.constantFrom(...spellings), fc.constantFrom("plain", "port", "brackets"), port)
    .map(([text, how, at]) => {
      const isSix = text.includes(":")
      if (how === "port") return isSix ? `[${text}]:${at}` : `${text}:${at}`
      return how === "brackets" && isSix ? `[${text}]` : text
    })
/** As an element of `Forwarded`. */
const element = (spellings: Spellings) =>
  fc
    .tuple(
      written(spellings),
      fc.constantFrom("for", "For", "FOR"),
      fc.subarray(["by=_p", "proto=https", 'host="a,b"'])
    )
    .map(([text, name, more]) => {
      const node = /[:[\]]/.test(text)
        ? `"${text.includes("[") || /^[\d.]+:/.test(text) ? text : `[${text}]`}"`
        : text
      return [`${name}=${node}`, ...more].join(";")
    })

const garbage = fc.oneof(
  fc.constantFrom(
    "unknown",
    "_hidden",
    "1.2.3",
    "1.2.3.4.5",
    "256.1.1.1",
    "[::1",
    "::1]",
    "1.2.3.4:x",
    "[1.2.3.4]",
    "for=",
    "010.1.1.1"
  ),
  fc
    .string({ minLength: 1, maxLength: 20 })
    .filter((text) => !/[,"]/.test(text) && /^[^\d[:]*[g-z_]/i.test(text.trim()))
)
/** Header values from a client: any text, including text that looks like a chain. */
const claimed = fc.oneof(
  fc.constant(""),
  fc.string({ maxLength: 60 }),
  fc.array(fc.oneof(proxy, client).chain(written), { maxLength: 5 }).map((hops) => hops.join(", ")),
  fc.constantFrom('"', 'for="', 'for="1.2.3.4', ",,,", 'for=10.0.0.1, for="')
)
const separator = fc.constantFrom(",", ", ", " ,\t", ", ,")

interface Chain {
  readonly client: Spellings
  /** Nearest to the client first; the last one is the peer. */
  readonly proxies: ReadonlyArray<Spellings>
  readonly claimed: string
  readonly header: string
  readonly name: "x-forwarded-for" | "forwarded"
  readonly other: string
}

const chain: fc.Arbitrary<Chain> = fc
  .record({
    client,
    proxies: fc.array(proxy, { minLength: 1, maxLength: 5 }),
    claimed,
    name: fc.constantFrom("x-forwarded-for" as const, "forwarded" as const),
    other: claimed
  })
  .chain((of) => {
    const hops = [of.client, ...of.proxies.slice(0, -1)]
    const write = of.name === "forwarded" ? element : written
    return fc.tuple(fc.tuple(...hops.map(write)), separator).map(([texts, comma]) => ({
      ...of,
      header: [...(of.claimed === "" ? [] : [of.claimed]), ...texts].join(comma)
    }))
  })

const runs = { numRuns: 1_000 * effort }
const peerOf = ({ proxies }: Chain): string => proxies.at(-1)?.at(-1) ?? ""
const headersOf = ({ header, name, other }: Chain) =>
  // A proxy that writes `X-Forwarded-For` passes the client's `Forwarded` on.
  name === "forwarded" ? { forwarded: header } : { "x-forwarded-for": header, forwarded: other }

describe("clientAddresses", () => {
  it("finds the client behind any chain of trusted proxies, regardless of what the client claims", () => {
    fc.assert(
      fc.property(chain, (of) =>
        assert.strictEqual(addressOf(headersOf(of), peerOf(of)), of.client[0], of.header)
      ),
      runs
    )
  })

  it("reads no header of an untrusted peer", () => {
    fc.assert(
      fc.property(chain, client, (of, peer) =>
        assert.strictEqual(addressOf(headersOf(of), peer.at(-1)), peer[0])
      ),
      runs
    )
  })

  it("stops at a hop that is not an address: the proxy that reported it stands for the client", () => {
    fc.assert(
      fc.property(proxy, proxy, garbage, claimed, (peer, last, unknown, before) =>
        assert.strictEqual(
          addressOf({ "x-forwarded-for": `${before},${unknown},${last[0]}` }, peer[0]),
          last[0]
        )
      ),
      runs
    )
  })

  it("always gives a canonical address for a peer that has one, and needs time in proportion to the header", () => {
    fc.assert(
      fc.property(
        proxy,
        fc.string({ maxLength: 200 }),
        fc.string({ maxLength: 200 }),
        (peer, plain, forwarded) => {
          const found = addressOf({ "x-forwarded-for": plain, forwarded }, peer[0])
          assert.strictEqual(canonicalAddress(found), found)
        }
      ),
      runs
    )
    for (const text of ['"', ",", "[", "for=", " ", '",', "1.", ":"]) {
      const header = text.repeat(16_384 / text.length)
      assert.strictEqual(addressOf({ "x-forwarded-for": header }, "10.0.0.1"), "10.0.0.1")
      assert.strictEqual(addressOf({ forwarded: header }, "10.0.0.1"), "10.0.0.1")
    }
  })

  it("trusts no proxy without the setting", () => {
    assert.strictEqual(clientAddresses()({ "x-forwarded-for": "1.2.3.4" }, "127.0.0.1"), "127.0.0.1")
  })
})

describe("clientNetwork", () => {
  const groups = fc.array(fc.nat(0xffff), { minLength: 4, maxLength: 4 })
  const spelled = (parts: ReadonlyArray<number>): string =>
    canonicalAddress(parts.map((part) => part.toString(16)).join(":")) ?? ""

  it("is the same for two IPv6 addresses exactly if their first 64 bits are", () => {
    // Few values: many runs of zeros, and networks that are equal.
    const few = fc.array(fc.constantFrom<number>(0, 1, 0xffff), { minLength: 4, maxLength: 4 })
    const half = fc.oneof(groups, few)
    fc.assert(
      fc.property(half, half, half, half, (one, other, tail, last) => {
        const addresses = [spelled([...one, ...tail]), spelled([...other, ...last])] as const
        // IPv4 in IPv6 is IPv4.
        fc.pre(addresses.every((address) => address.includes(":")))
        const [first, second] = addresses.map(clientNetwork)
        assert.strictEqual(first === second, one.join() === other.join(), addresses.join(" "))
        assert.strictEqual(clientNetwork(spelled([...one, ...last.with(0, 2)])), first)
      }),
      runs
    )
  })

  it("is an IPv4 address itself, in any spelling", () => {
    fc.assert(
      fc.property(ipv4(byte), (spellings) => {
        for (const text of spellings)
          assert.strictEqual(clientNetwork(canonicalAddress(text) ?? ""), spellings[0])
      }),
      runs
    )
  })
})

describe("elementsFromRight", () => {
  it("yields what was joined, without empty elements", () => {
    const part = fc.oneof(
      fc.string({ maxLength: 10 }).map((text) => text.replaceAll(/[",]/g, "").trim()),
      fc.string({ maxLength: 10 }).map((text) => `a="${text.replaceAll('"', "")}"`)
    )
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
        const elements = [...elementsFromRight(parts.join(","))].toReversed()
        assert.deepStrictEqual(
          elements,
          parts.filter((text) => text !== "")
        )
      }),
      runs
    )
  })
})

describe("TrustedProxies", () => {
  const isUsable = (text: string): boolean => Option.isSome(Schema.decodeOption(TrustedProxies)(text))

  it.each(["", "127.0.0.1", "10.0.0.0/8, ::1\nfd00::/8", "::ffff:10.0.0.1", "10.1.2.3/8"])(
    "takes %j",
    (text) => assert.isTrue(isUsable(text))
  )
  it.each([
    "localhost",
    "10.0.0.0/33",
    "::/0",
    "0.0.0.0/0",
    "10.0.0.0/-1",
    "10.0.0",
    "::1/129",
    "fe80::1%eth0",
    "::ffff:10.0.0.0/104",
    "10.0.0.1;::1"
  ])("refuses %j", (text) => assert.isFalse(isUsable(text)))
  it("counts a network's bits from its address", () => {
    const of = clientAddresses(Schema.decodeSync(TrustedProxies)("10.1.2.3/8"))
    assert.strictEqual(of({ "x-forwarded-for": "1.2.3.4" }, "10.9.9.9"), "1.2.3.4")
    assert.strictEqual(of({ "x-forwarded-for": "1.2.3.4" }, "11.0.0.1"), "11.0.0.1")
  })
})
