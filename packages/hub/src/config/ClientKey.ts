/**
 * Private key with which this Hub authenticates to an identity provider (`private_key_jwt`), read from PEM or a JWK.
 *
 * Guarantees: the key never appears in text or JSON of the configuration.
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
  /** Id of the key among the client's keys at the provider. */
  readonly keyId?: string | undefined
  /** SHA-256 of the key's certificate, as base64url. Entra ID finds the key by it. */
  readonly thumbprint?: string | undefined
}

const MIN_RSA_BITS = 2_048

/** Algorithms that fit the key, the most common first. */
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

/** Parses one private key: PEM, with or without its certificate, or a JWK. Returns `undefined` if the key can't be used. */
export const clientKeyFrom = (text: string): ClientKey | undefined => {
  try {
    const jwk = text.trimStart().startsWith("{") ? (JSON.parse(text) as NamedKey) : undefined
    const key = createPrivateKey(jwk === undefined ? text : { key: jwk, format: "jwk" })
    const thumbprint = jwk === undefined ? thumbprintOf(text) : undefined
    // Entra ID requires PS256 with a certificate.
    const requested = thumbprint === undefined || key.asymmetricKeyType !== "rsa" ? jwk?.alg : "PS256"
    const algorithm = algorithmsOf(key).find((name) => requested === undefined || name === requested)
    if (algorithm === undefined) return undefined
    return { key, algorithm, thumbprint, keyId: typeof jwk?.kid === "string" ? jwk.kid : undefined }
  } catch {
    return undefined
  }
}

/** Signs an assertion for each request to the token endpoint, valid for a minute. */
export const clientKeyAuth = ({ algorithm, key, keyId, thumbprint }: ClientKey): client.ClientAuth => {
  // Node and the browser's types list other usages of keys.
  const signing = key.toCryptoKey(algorithms[algorithm], false, ["sign"]) as client.CryptoKey
  return (server, ...rest) => {
    const addThumbprint: client.ModifyAssertionFunction = (header, payload) => {
      header["x5t#S256"] = thumbprint
      // Providers that require certificates require this audience. Elsewhere it is the issuer, which no other provider can name.
      payload["aud"] = server.token_endpoint
    }
    const auth = client.PrivateKeyJwt(
      keyId === undefined ? signing : { key: signing, kid: keyId },
      thumbprint === undefined ? undefined : { [client.modifyAssertion]: addThumbprint }
    )
    return auth(server, ...rest)
  }
}
