/**
 * The key with which this Hub shows an identity provider that it is its client (`private_key_jwt`): read from PEM or a JWK, and how it signs.
 *
 * It is never shown itself: what holds it as text or JSON holds nothing.
 */
import * as client from "openid-client"
import { createHash, createPrivateKey, type JsonWebKey, type KeyObject, X509Certificate } from "node:crypto"

const rsa = (name: string) => ({ name, hash: "SHA-256" })
const elliptic = (namedCurve: string) => ({ name: "ECDSA", namedCurve })

const algorithms = {
  RS256: rsa("RSASSA-PKCS1-v1_5"),
  PS256: rsa("RSA-PSS"),
  ES256: elliptic("P-256"),
  ES384: elliptic("P-384")
} as const
type Algorithm = keyof typeof algorithms

export interface ClientKey {
  readonly key: KeyObject
  readonly algorithm: Algorithm
  /** By which the provider finds the key among those it knows of this client. */
  readonly keyId?: string | undefined
  /** SHA-256 of the certificate that came with the key, as base64url: by which Entra ID finds it. */
  readonly thumbprint?: string | undefined
}

const MIN_RSA_BITS = 2_048

/** What may sign with the key, the usual one first. */
const algorithmsOf = ({ asymmetricKeyDetails, asymmetricKeyType }: KeyObject): ReadonlyArray<Algorithm> => {
  const { modulusLength = 0, namedCurve } = asymmetricKeyDetails ?? {}
  if (asymmetricKeyType === "rsa") return modulusLength >= MIN_RSA_BITS ? ["RS256", "PS256"] : []
  if (asymmetricKeyType !== "ec") return []
  return namedCurve === "prime256v1" ? ["ES256"] : namedCurve === "secp384r1" ? ["ES384"] : []
}

const thumbprintOf = (pem: string): string | undefined =>
  pem.includes("-----BEGIN CERTIFICATE-----")
    ? createHash("sha256").update(new X509Certificate(pem).raw).digest("base64url")
    : undefined

interface NamedKey extends JsonWebKey {
  readonly kid?: unknown
  readonly alg?: unknown
}

/** The key that a text holds: one private key as PEM, perhaps with its certificate, or as a JWK. Undefined where it holds none that we can use. */
export const clientKeyFrom = (text: string): ClientKey | undefined => {
  try {
    const jwk = text.trimStart().startsWith("{") ? (JSON.parse(text) as NamedKey) : undefined
    const key = createPrivateKey(jwk === undefined ? text : { key: jwk, format: "jwk" })
    const thumbprint = jwk === undefined ? thumbprintOf(text) : undefined
    // With a certificate what Entra ID asks for.
    const wanted = thumbprint === undefined || key.asymmetricKeyType !== "rsa" ? jwk?.alg : "PS256"
    const algorithm = algorithmsOf(key).find((name) => wanted === undefined || name === wanted)
    if (algorithm === undefined) return undefined
    return { key, algorithm, thumbprint, keyId: typeof jwk?.kid === "string" ? jwk.kid : undefined }
  } catch {
    return undefined
  }
}

/** Signs an assertion of a minute for each request to the token endpoint. */
export const clientKeyAuth = ({ algorithm, key, keyId, thumbprint }: ClientKey): client.ClientAuth => {
  const signing = key.toCryptoKey(algorithms[algorithm], false, ["sign"])
  return (server, ...rest) => {
    const certified: client.ModifyAssertionFunction = (header, payload) => {
      header["x5t#S256"] = thumbprint
      // Where certificates are asked for, so is this; elsewhere the issuer, which no other provider can ask us to name.
      payload["aud"] = server.token_endpoint
    }
    const auth = client.PrivateKeyJwt(
      keyId === undefined ? signing : { key: signing, kid: keyId },
      thumbprint === undefined ? undefined : { [client.modifyAssertion]: certified }
    )
    return auth(server, ...rest)
  }
}
