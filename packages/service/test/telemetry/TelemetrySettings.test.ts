import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { readSettings } from "../../src/settings/ReadSettings.ts"
import { telemetryConfig } from "../../src/telemetry/TelemetrySettings.ts"

const read = (env: Readonly<Record<string, string>>) => readSettings(env, telemetryConfig)

const refused = (env: Readonly<Record<string, string>>) =>
  Effect.map(Effect.flip(read(env)), ({ message }) => message)

const TOKEN = "a-token-of-more-than-32-characters"

describe("telemetryConfig", () => {
  it.effect("sends nothing by default", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* read({ CORRAL_OTLP_URL: "" }), {
        collector: undefined,
        headers: undefined,
        metricsToken: undefined
      })
    })
  )

  it.effect("reads a collector with its headers, and shows none of their values", () =>
    Effect.gen(function* () {
      const config = yield* read({
        CORRAL_OTLP_URL: "https://otlp.example.com/tenant/",
        CORRAL_OTLP_HEADERS: "Authorization=Basic%20czNjcmV0, x-team = s3cret\nx-third=3",
        CORRAL_METRICS_TOKEN: TOKEN
      }).pipe(Effect.orElseSucceed(() => undefined))
      assert.isUndefined(config, "a space in a name")
      const good = yield* read({
        CORRAL_OTLP_URL: "https://otlp.example.com/tenant/",
        CORRAL_OTLP_HEADERS: "Authorization=Basic%20czNjcmV0, x-team=s3cret\nx-third=3",
        CORRAL_METRICS_TOKEN: TOKEN
      })
      assert.strictEqual(good.collector, "https://otlp.example.com/tenant")
      assert.deepStrictEqual(
        Object.entries(good.headers ?? {}).map(([name, value]) => [name, Redacted.value(value)]),
        [
          ["authorization", "Basic czNjcmV0"],
          ["x-team", "s3cret"],
          ["x-third", "3"]
        ]
      )
      assert.notMatch(JSON.stringify(good), /s3cret|czNjcmV0|a-token/)
    })
  )

  it.effect.each([
    "collector:4318",
    "ftp://collector",
    "http://user:s3cret@collector",
    "http://collector/?key=s3cret",
    "http://collector/#s3cret"
  ])("refuses the address %s without repeating it", (url) =>
    Effect.gen(function* () {
      const message = yield* refused({ CORRAL_OTLP_URL: url })
      assert.match(message, /^CORRAL_OTLP_URL is not usable: expected /)
      assert.notInclude(message, "s3cret")
    })
  )

  it.effect.each(["s3cret", "=s3cret", "a=b,s3cret", "a=%zz", "a=%0As3cret", "a=", ","])(
    "refuses the headers %s without repeating them",
    (headers) =>
      Effect.gen(function* () {
        const message = yield* refused({
          CORRAL_OTLP_URL: "http://127.0.0.1:4318",
          CORRAL_OTLP_HEADERS: headers
        })
        assert.match(message, /^CORRAL_OTLP_HEADERS is not usable: expected /)
        assert.notInclude(message, "s3cret")
      })
  )

  it.effect("sends a key over nothing but https, or on this machine", () =>
    Effect.gen(function* () {
      const headers = { CORRAL_OTLP_HEADERS: "key=s3cret" }
      assert.match(yield* refused(headers), /^CORRAL_OTLP_HEADERS is not usable/)
      assert.match(
        yield* refused({ ...headers, CORRAL_OTLP_URL: "http://collector:4318" }),
        /^CORRAL_OTLP_URL is not usable: expected an https address/
      )
      yield* read({ ...headers, CORRAL_OTLP_URL: "http://127.0.0.1:4318" })
      yield* read({ CORRAL_OTLP_URL: "http://collector:4318" })
    })
  )

  it.effect.each(["short", "x".repeat(31), `${"x".repeat(32)} y`])(
    "refuses the metrics' token %s without repeating it",
    (token) =>
      Effect.gen(function* () {
        const message = yield* refused({ CORRAL_METRICS_TOKEN: token })
        assert.match(message, /^CORRAL_METRICS_TOKEN is not usable: expected /)
        assert.notInclude(message, token)
      })
  )
})
