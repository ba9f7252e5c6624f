/** Statements of Hubs of 0.2.0 on the database of this version. */
import { query } from "@corral/testing/postgres/OutsidePostgres"
import { dropDatabase, makeDatabase, sharedServer } from "@corral/testing/postgres/SharedPostgres"
import { assert, describe, it, onTestFinished } from "@effect/vitest"

describe("A Hub of 0.2.0 beside later ones", () => {
  it("links devices for them too, and ends those links", async () => {
    const url = await makeDatabase(await sharedServer(), { prepared: true })
    onTestFinished(() => dropDatabase(url))
    await query(
      url,
      "INSERT INTO users (id, issuer, subject, name, created_at) VALUES ('usr_a', 'i', 's', 'A', now())"
    )
    await query(
      url,
      "INSERT INTO devices (id, owner_id, name, kind, public_key, created_at) VALUES ('dev_a', 'usr_a', 'laptop', 'edge', 'key', now())"
    )
    const linked = () => query(url, "SELECT linked FROM devices")
    await query(url, "UPDATE devices SET lease_until = now() + interval '1 minute'")
    assert.deepStrictEqual(await linked(), [{ linked: true }])
    await query(url, "UPDATE devices SET lease_until = NULL")
    assert.deepStrictEqual(await linked(), [{ linked: false }])
  })
})
