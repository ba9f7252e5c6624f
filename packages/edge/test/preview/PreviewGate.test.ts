import { assert, describe, it } from "@effect/vitest"
import { isGateCookie, PreviewGate } from "../../src/preview/PreviewGate.ts"

const cookieOf = (gate: PreviewGate): string => gate.redeem(gate.issue(0), 1)?.split(";")[0] ?? ""

describe("PreviewGate", () => {
  it("takes a ticket once, within a minute", () => {
    const gate = new PreviewGate()
    const ticket = gate.issue(1_000)
    assert.isUndefined(gate.redeem(`${ticket}x`, 1_001))
    assert.match(gate.redeem(ticket, 60_999) ?? "", /^corral_prv_[0-9a-f]{16}=/)
    assert.isUndefined(gate.redeem(ticket, 60_999), "used")
    assert.isUndefined(gate.redeem(gate.issue(1_000), 61_000), "late")
    assert.isUndefined(gate.redeem(new PreviewGate().issue(1_000), 1_001), "of another preview")
    assert.isUndefined(gate.redeem("", 1_001))
  })

  it("issues unguessable tickets, and keeps the newest of many", () => {
    const gate = new PreviewGate()
    const tickets = Array.from({ length: 40 }, () => gate.issue(0))
    assert.strictEqual(new Set(tickets).size, 40)
    for (const ticket of tickets) assert.match(ticket, /^[\w-]{43}$/)
    assert.isUndefined(gate.redeem(tickets[7] ?? "", 1))
    assert.isString(gate.redeem(tickets[8] ?? "", 1))
    assert.isString(gate.redeem(tickets[39] ?? "", 1))
  })

  it("admits its own cookie alone, wherever it stands in the header", () => {
    const gate = new PreviewGate()
    const cookie = cookieOf(gate)
    const [name = "", value = ""] = cookie.split("=")
    assert.isTrue(gate.admits({ cookie }))
    assert.isTrue(gate.admits({ cookie: `a=b;${cookie};c` }))
    assert.isTrue(gate.admits({ cookie: `${name}=forged; ${cookie}` }))
    const other = cookieOf(new PreviewGate())
    const bad = [undefined, "", name, `${name}=`, `${name}=${value}x`, `x${cookie}`, value, other]
    for (const cookie of bad) assert.isFalse(gate.admits(cookie === undefined ? {} : { cookie }), cookie)
    assert.isFalse(gate.admits({ cookie: `${name}=${other.split("=")[1]}` }), "the value of another")
  })

  it("knows the cookies of every preview", () => {
    assert.isTrue(isGateCookie(cookieOf(new PreviewGate())))
    assert.isTrue(isGateCookie(" CORRAL_PRV_x"))
    assert.isFalse(isGateCookie("session"))
  })
})
