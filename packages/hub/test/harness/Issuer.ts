/**
 * OpenID Connect provider on loopback where users type a name. It serves once it has the address of its client, the Hub.
 */
import { generateKeyPair, exportJWK, type JWTPayload, SignJWT } from "jose"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { Provider } from "oidc-provider"
import { type Browser, locationOf } from "@corral/testing/hub/Browser"

export const CLIENT_ID = "corral-hub"
export const CLIENT_SECRET = "a-client-secret-of-the-tests"

export type Claims = Readonly<Record<string, unknown>>

export class Issuer {
  readonly url: string
  /** Additional claims by user name. */
  readonly people = new Map<string, Claims>()
  /** Client authentication in the form of the provider's library. */
  clientAuth: Readonly<Record<string, unknown>> = { client_secret: CLIENT_SECRET }
  /** Whether claims are in the ID token; otherwise only the userinfo endpoint returns them. */
  inIdToken = true
  private readonly server: Server
  private readonly keys: Awaited<ReturnType<typeof generateKeyPair>>

  private constructor(server: Server, keys: Awaited<ReturnType<typeof generateKeyPair>>) {
    this.server = server
    this.keys = keys
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  static async open(): Promise<Issuer> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen({ host: "127.0.0.1", port: 0 }, resolve))
    return new Issuer(server, await generateKeyPair("ES256", { extractable: true }))
  }

  /** Settings of a Hub that uses this provider. */
  get env(): Readonly<Record<string, string>> {
    return {
      CORRAL_OIDC_ISSUER: this.url,
      CORRAL_OIDC_CLIENT_ID: CLIENT_ID,
      CORRAL_OIDC_CLIENT_SECRET: CLIENT_SECRET
    }
  }

  async serve(hubUrl: string): Promise<void> {
    const key = { ...(await exportJWK(this.keys.privateKey)), alg: "ES256", use: "sig", kid: "k1" }
    const provider = new Provider(this.url, {
      clients: [
        {
          client_id: CLIENT_ID,
          ...this.clientAuth,
          redirect_uris: [`${hubUrl}/client/auth/callback`],
          post_logout_redirect_uris: [`${hubUrl}/`],
          id_token_signed_response_alg: "ES256",
          backchannel_logout_uri: `${hubUrl}/client/auth/backchannel-logout`,
          backchannel_logout_session_required: true
        }
      ],
      jwks: { keys: [key as never] },
      claims: { openid: ["sub"], profile: ["name", "groups", "realm"], email: ["email", "email_verified"] },
      conformIdTokenClaims: !this.inIdToken,
      cookies: { keys: ["for tests"] },
      features: { backchannelLogout: { enabled: true } },
      findAccount: (_, id) => ({
        accountId: id,
        claims: () => ({ sub: id, name: id, ...this.people.get(id) })
      }),
      loadExistingGrant: async ({ oidc }) => {
        const grant = new oidc.provider.Grant({
          accountId: oidc.session?.accountId,
          clientId: oidc.client?.clientId
        })
        grant.addOIDCScope("openid profile email")
        await grant.save()
        return grant
      },
      // The library's own refuses loopback; what it adds for that, `fetch` does not know.
      fetch: (url, init) => {
        const { headers, method, body, signal } = init ?? {}
        return fetch(url, { headers, method, body, signal } as RequestInit)
      },
      ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 }
    })
    this.server.removeAllListeners("request")
    const handle = provider.callback()
    this.server.on("request", (request, response) => void handle(request, response))
  }

  /** Signs a user in on the provider's pages. Returns the address of the redirect back to the Hub. */
  async signIn(browser: Browser, authorizationUrl: string, name: string): Promise<string> {
    let next = new URL(authorizationUrl)
    for (let steps = 0; next.origin === this.url; steps++) {
      if (steps > 10) throw new Error(`the provider goes in circles: ${next.pathname}`)
      const request = next.pathname.startsWith("/interaction/") && !next.pathname.endsWith("/abort")
      const response = request
        ? await browser.send(next.href, {
            method: "POST",
            body: new URLSearchParams({ prompt: "login", login: name, password: "x" })
          })
        : await browser.send(next.href)
      const location = locationOf(response)
      if (location === "") throw new Error(`${next.pathname}: ${response.status} ${await response.text()}`)
      next = new URL(location, next)
    }
    return next.href
  }

  /** Ends the provider's own session, as its logout page does. */
  async signOut(browser: Browser): Promise<void> {
    const page = await (await browser.send(`${this.url}/session/end`)).text()
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(page)?.[1] ?? ""
    await browser.send(`${this.url}/session/end/confirm`, {
      method: "POST",
      body: new URLSearchParams({ xsrf, logout: "yes" })
    })
  }

  /** A token signed with the provider's key, or with `keys`. */
  sign(claims: JWTPayload, header: { readonly typ?: string } = {}, keys = this.keys): Promise<string> {
    return new SignJWT(claims)
      .setProtectedHeader({ alg: "ES256", kid: "k1", ...header })
      .sign(keys.privateKey)
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(() => resolve())
      this.server.closeAllConnections()
    })
  }
}
