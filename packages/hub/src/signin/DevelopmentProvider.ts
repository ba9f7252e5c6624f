/**
 * Identity provider for development, inside the Hub on loopback: its page accepts any name without a proof. Every program that reaches
 * the loopback of this machine can sign in as any user. The page has one field with a proposed name and no script.
 *
 * Guarantees: it starts and loads only if the settings request it, and loads without its library's warning about the version of Node.
 * The library knows the LTS releases only, and Corral has checked the version itself. Its data are in memory and end with the Hub.
 */
import { Data, Effect, Layer } from "effect"
import { generateKeyPairSync, randomBytes } from "node:crypto"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { Adapter, AdapterPayload, Configuration, Provider } from "oidc-provider"
import { HubConfig, oidcDefaults } from "../config/HubConfig.ts"
import { hubPage, pageStyle, sourceHash } from "../page/HubPage.ts"
import { IdentityProvider } from "./IdentityProvider.ts"

const isItsWarning = (text: unknown): boolean => typeof text === "string" && text.includes("oidc-provider ")

export const providerLibrary = Effect.promise(async () => {
  const { warn } = globalThis.console
  globalThis.console.warn = (...texts) => {
    if (!isItsWarning(texts[0])) warn(...texts)
  }
  try {
    return (await import("oidc-provider")).default
  } finally {
    globalThis.console.warn = warn
  }
})

/** The form returns to the Hub by redirects, which `form-action` would refuse. */
export const signInPolicy = `default-src 'none'; style-src ${sourceHash(pageStyle)}; frame-ancestors 'none'`

const words = {
  en: {
    title: "Sign in",
    name: "Your name",
    note: "For development only: any name is accepted. A Hub for several people uses an identity provider."
  },
  zh: {
    title: "登录",
    name: "您的姓名",
    note: "仅供开发使用：任何姓名均可登录。多人使用的 Hub 应配置身份提供方。"
  }
}

const escaped = (text: string): string => text.replaceAll(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`)

/** `languages` is the header `accept-language`. */
export const signInPage = (proposed: string, languages = ""): string => {
  const lang = languages.trim().toLowerCase().startsWith("zh") ? "zh" : "en"
  const { name, note, title } = words[lang]
  return hubPage({
    title,
    lang: lang === "zh" ? "zh-CN" : "en",
    body: `<h1>${title}</h1>
<form method="post">
  <label>${name}<input name="name" maxlength="100" autocomplete="username" value="${escaped(proposed)}" required autofocus></label>
  <button class="primary">${title}</button>
</form>
<p class="quiet">${note}</p>`
  })
}

export class DevelopmentProviderFailed extends Data.TaggedError("DevelopmentProviderFailed")<{
  readonly message: string
}> {}

const CLIENT = "corral"
/** Issuer of the stored users. The address of the provider changes with each start. */
export const DEVELOPMENT_ISSUER = "urn:corral:development"
const CLIENT_CONFIG = { clientId: CLIENT, tokenAuth: "none", knownAs: DEVELOPMENT_ISSUER } as const
const HOST = "127.0.0.1"
const CALLBACK = "/client/auth/callback"
const DAY = 86_400

/** The configured provider, or the one for development, or none. */
export const identityProviderLayer = Layer.unwrap(
  Effect.map(HubConfig, ({ devSignIn, devSignInAs, oidc }) =>
    devSignIn === true ? developmentProvider(devSignInAs ?? "") : IdentityProvider.layer(oidc)
  )
)

const developmentProvider = (proposed: string) =>
  Layer.unwrap(
    Effect.map(start(proposed), (issuer) =>
      IdentityProvider.layer({ ...oidcDefaults, ...CLIENT_CONFIG, issuer })
    )
  )

const start = Effect.fnUntraced(function* (proposed: string) {
  const server = yield* listening
  const issuer = `http://${HOST}:${(server.address() as AddressInfo).port}`
  const Library = yield* providerLibrary
  const provider = new Library(issuer, configurationOf())
  // The Hub may be below a path of another program's server.
  provider.Client.prototype.redirectUriAllowed = (uri) => isCallback(uri)
  const serve = provider.callback()
  server.on("request", (request, response) => {
    // Another Host belongs to another site that resolves to this address.
    if (`http://${request.headers.host}` !== issuer) return end(response, 403, "Forbidden")
    const uid = /^\/interaction\/([\w-]+)$/.exec(request.url ?? "")?.[1]
    if (uid === undefined) return void serve(request, response)
    answerInteraction(provider, request, response, proposed).catch(() =>
      end(response, 400, "This sign-in has expired. Start again.")
    )
  })
  const warning = `CORRAL_HUB_DEV_SIGN_IN: ${issuer} signs in anyone under any name. Never use it on a machine that others can reach.`
  // A command that proposes a name says so itself.
  yield* proposed === "" ? Effect.logWarning(warning) : Effect.logInfo(warning)
  return issuer
})

/** Whether an address is that of a Hub on this machine to which a browser returns. */
const isCallback = (uri: string): boolean => {
  const { hash, hostname, pathname, protocol, search } = new URL(uri)
  const isLocal = protocol === "http:" && [HOST, "[::1]", "localhost"].includes(hostname)
  return isLocal && pathname.endsWith(CALLBACK) && search === "" && hash === ""
}

const listening = Effect.acquireRelease(
  Effect.callback<Server, DevelopmentProviderFailed>((resume) => {
    const server = createServer({ maxHeaderSize: 16_384, headersTimeout: 5_000, requestTimeout: 10_000 })
    server.once("error", ({ message }) => resume(Effect.fail(new DevelopmentProviderFailed({ message }))))
    server.listen({ host: HOST, port: 0 }, () => resume(Effect.succeed(server)))
  }),
  (server) =>
    Effect.callback<void>((resume) => {
      server.close(() => resume(Effect.void))
      server.closeAllConnections()
    })
)

const configurationOf = (): Configuration => ({
  adapter: InMemory,
  clients: [
    {
      client_id: CLIENT,
      token_endpoint_auth_method: "none",
      // A native client may use any loopback port: the port of the Hub is not known yet.
      application_type: "native",
      id_token_signed_response_alg: "ES256",
      redirect_uris: [`http://${HOST}${CALLBACK}`]
    }
  ],
  jwks: {
    keys: [
      {
        ...generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" }),
        alg: "ES256",
        use: "sig"
      } as never
    ]
  },
  cookies: { keys: [randomBytes(32).toString("base64url")] },
  claims: { openid: ["sub"], profile: ["name"] },
  conformIdTokenClaims: false,
  features: { devInteractions: { enabled: false } },
  findAccount: (_, name) => ({ accountId: name, claims: () => ({ sub: name, name }) }),
  // The typed name is the consent, so there is no second question.
  loadExistingGrant: async ({ oidc }) => {
    const grant = new oidc.provider.Grant({
      accountId: oidc.session?.accountId,
      clientId: oidc.client?.clientId
    })
    grant.addOIDCScope("openid profile email")
    await grant.save()
    return grant
  },
  interactions: { url: (_, { uid }) => `/interaction/${uid}` },
  clientBasedCORS: () => false,
  renderError: (context, { error }) => {
    context.type = "text"
    context.body = error
  },
  ttl: { AccessToken: 600, Grant: DAY, IdToken: 600, Interaction: 600, Session: DAY }
})

const answerInteraction = async (
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
  proposed: string
): Promise<void> => {
  const { prompt } = await provider.interactionDetails(request, response)
  // For a native client the library requires consent too. The typed name is the consent.
  if (prompt.name !== "login") return provider.interactionFinished(request, response, { consent: {} })
  const name = request.method === "POST" ? await nameIn(request) : undefined
  if (name === undefined) {
    const page = signInPage(proposed, request.headers["accept-language"])
    return end(response, 200, page, "text/html; charset=utf-8")
  }
  await provider.interactionFinished(request, response, { login: { accountId: name } })
}

/** Name in the form; `undefined` if the field is empty. */
const nameIn = async (request: IncomingMessage): Promise<string | undefined> => {
  let text = ""
  for await (const chunk of request) {
    text += String(chunk)
    if (text.length > MAX_FORM) throw new Error("too long")
  }
  const name = new URLSearchParams(text)
    .get("name")
    ?.replaceAll(/\p{Cc}/gu, " ")
    .trim()
    .slice(0, 100)
  return name === "" ? undefined : name
}

const MAX_FORM = 4_096

const end = (response: ServerResponse, status: number, body: string, type = "text/plain"): void => {
  response.writeHead(status, {
    "Content-Type": type,
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": signInPolicy
  })
  response.end(body)
}

/** Store of one kind of the library's records, until they expire. */
class InMemory implements Adapter {
  private readonly records = new Map<string, { readonly payload: AdapterPayload; readonly until: number }>()

  async upsert(id: string, payload: AdapterPayload, expiresIn: number): Promise<void> {
    const now = performance.now()
    for (const [key, { until }] of this.records) if (until < now) this.records.delete(key)
    this.records.set(id, { payload, until: expiresIn > 0 ? now + expiresIn * 1_000 : Infinity })
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    return this.records.get(id)?.payload
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return [...this.records.values()].find(({ payload }) => payload.uid === uid)?.payload
  }

  async findByUserCode(userCode: string): Promise<AdapterPayload | undefined> {
    return [...this.records.values()].find(({ payload }) => payload.userCode === userCode)?.payload
  }

  async consume(id: string): Promise<void> {
    const record = this.records.get(id)
    // The library reads whether a record was consumed, and the time in seconds.
    if (record !== undefined) record.payload.consumed = Math.floor(performance.timeOrigin / 1_000)
  }

  async destroy(id: string): Promise<void> {
    this.records.delete(id)
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    for (const [id, { payload }] of this.records) if (payload.grantId === grantId) this.records.delete(id)
  }
}
