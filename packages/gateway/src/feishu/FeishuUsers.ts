/**
 * Who is who on the platform: the bot itself, which must be known, and people, whose names are shown if the platform has them. No user is
 * recognized by a name.
 */
import { Clock, Effect, Semaphore } from "effect"
import { NotSent, type PlatformUser, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import { BotInfo, type FeishuCall, inPath, FeishuTenant, FeishuUser } from "./FeishuApi.ts"

const KEPT_MS = 5 * 60_000
const MANY = 1_000

/** The bot's open id: asked for until it is known, and then no more. */
export const botIdOf = (
  call: FeishuCall,
  known: string | undefined
): Effect.Effect<string, PlatformUnavailable> => {
  let id = known
  const asking = Semaphore.makeUnsafe(1)
  const ask = Effect.gen(function* () {
    if (id !== undefined) return id
    const { bot } = yield* call(BotInfo, (client) =>
      client.request({ method: "GET", url: "/open-apis/bot/v3/info" })
    )
    id = bot.open_id
    return id
  })
  return asking
    .withPermit(ask)
    .pipe(
      Effect.mapError((failure) =>
        failure instanceof NotSent
          ? new PlatformUnavailable({ message: `The bot does not know its own id. ${failure.message}` })
          : failure
      )
    )
}

/** Remembers what it heard for five minutes, also that it heard nothing. */
export const personOf = (call: FeishuCall): ((userId: string) => Effect.Effect<PlatformUser>) => {
  const heard = new Map<string, { readonly person: PlatformUser; readonly until: number }>()
  let tenantName: string | undefined

  const tenant = Effect.gen(function* () {
    tenantName ??= yield* call(FeishuTenant, (client) => client.tenant.v2.tenant.query({})).pipe(
      Effect.map(({ data }) => data.tenant.name),
      Effect.orElseSucceed(() => undefined)
    )
    return tenantName
  })
  const nameOf = (userId: string) =>
    call(FeishuUser, (client) =>
      client.contact.v3.user.get({ path: { user_id: inPath(userId) }, params: { user_id_type: "open_id" } })
    ).pipe(
      Effect.map(({ data }) => data.user.name),
      Effect.orElseSucceed(() => undefined)
    )

  return Effect.fnUntraced(function* (userId: string) {
    const now = yield* Clock.currentTimeMillis
    const known = heard.get(userId)
    if (known !== undefined && known.until > now) return known.person
    const [name, ofTenant] = yield* Effect.all([nameOf(userId), tenant], { concurrency: 2 })
    const person = {
      ...(name === undefined ? {} : { name }),
      ...(ofTenant === undefined ? {} : { tenantName: ofTenant })
    }
    heard.delete(userId)
    heard.set(userId, { person, until: now + KEPT_MS })
    // The one that was heard of first.
    for (const oldest of heard.keys()) {
      if (heard.size <= MANY) break
      heard.delete(oldest)
    }
    return person
  })
}
