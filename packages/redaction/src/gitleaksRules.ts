/**
 * Rules of gitleaks, converted by `scripts/gitleaks.ts` from its configuration at commit b58d3f102cf3.
 * Copyright (c) 2019 Zachary Rice, MIT licence: see `gitleaks.LICENSE` in this folder. Generated: do not edit.
 */
import type { SecretRule } from "./SecretRule.ts"

/** Secrets that are none: placeholders, variables, paths. */
export const placeholders = (): ReadonlyArray<string> => [
  "^(?:[tT][rR][uU][eE]|[fF][aA][lL][sS][eE]|[nN][uU][lL][lL])$",
  "^(?:[aA]+|[bB]+|[cC]+|[dD]+|[eE]+|[fF]+|[gG]+|[hH]+|[iI]+|[jJ]+|[kK]+|[lL]+|[mM]+|[nN]+|[oO]+|[pP]+|[qQ]+|[rR]+|[sS]+|[tT]+|[uU]+|[vV]+|[wW]+|[xX]+|[yY]+|[zZ]+|\\*+|\\.+)$",
  "^\\$(?:\\d+|{\\d+})$",
  "^\\$(?:[A-Z_]+|[a-z_]+)$",
  "^\\${(?:[A-Z_]+|[a-z_]+)}$",
  "^\\{\\{[ \\t]*[\\w ().|]+[ \\t]*}}$",
  "^\\$\\{\\{[ \\t]*(?:(?:env|github|secrets|vars)(?:\\.[A-Za-z]\\w+)+[\\w \"'&./=|]*)[ \\t]*}}$",
  "^%(?:[A-Z_]+|[a-z_]+)%$",
  "^%[+\\-# 0]?[bcdeEfFgGoOpqstTUvxX]$",
  "^\\{\\d{0,2}}$",
  "^@(?:[A-Z_]+|[a-z_]+)@$",
  "^\\/Users\\/[a-zA-Z0-9]+\\/[\\w .-/]+$",
  "^\\/(?:bin|etc|home|opt|tmp|usr|var)\\/[\\w ./-]+$"
]

/** A function, so that a service that starts does not build them. */
export const gitleaksRules = (): ReadonlyArray<SecretRule> => [
  {
    id: "1password-secret-key",
    keywords: ["a3-"],
    pattern:
      "\\bA3-[A-Z0-9]{6}-(?:(?:[A-Z0-9]{11})|(?:[A-Z0-9]{6}-[A-Z0-9]{5}))-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}\\b",
    entropy: 3.8
  },
  {
    id: "1password-service-account-token",
    keywords: ["ops_"],
    pattern: "ops_eyJ[a-zA-Z0-9+/]{250,}={0,3}",
    entropy: 4
  },
  {
    id: "adafruit-api-key",
    keywords: ["adafruit"],
    name: "adafruit",
    ignoreCase: true,
    value: "[a-zA-Z0-9_-]{32}"
  },
  {
    id: "adobe-client-id",
    keywords: ["adobe"],
    name: "adobe",
    ignoreCase: true,
    value: "[a-fA-F0-9]{32}",
    entropy: 2
  },
  {
    id: "adobe-client-secret",
    keywords: ["p8e-"],
    pattern: "\\b(?<secret>p8e-[a-zA-Z0-9]{32})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 2
  },
  {
    id: "age-secret-key",
    keywords: ["age-secret-key-1"],
    pattern: "AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"
  },
  {
    id: "airtable-api-key",
    keywords: ["airtable"],
    name: "airtable",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{17}"
  },
  {
    id: "airtable-personnal-access-token",
    keywords: ["airtable"],
    pattern: "\\b(?<secret>pat[A-Za-z0-9]{14}\\.[a-f0-9]{64})\\b",
    near: true
  },
  {
    id: "algolia-api-key",
    keywords: ["algolia"],
    name: "algolia",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{32}"
  },
  {
    id: "alibaba-access-key-id",
    keywords: ["ltai"],
    pattern: "\\b(?<secret>LTAI[a-zA-Z0-9]{20})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 2
  },
  {
    id: "alibaba-secret-key",
    keywords: ["alibaba"],
    name: "alibaba",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{30}",
    entropy: 2
  },
  {
    id: "anthropic-admin-api-key",
    keywords: ["sk-ant-admin01"],
    pattern: "\\b(?<secret>sk-ant-admin01-[a-zA-Z0-9_\\-]{93}AA)(?:[`'\"\\s;]|\\\\[nr]|$)"
  },
  {
    id: "anthropic-api-key",
    keywords: ["sk-ant-api03"],
    pattern: "\\b(?<secret>sk-ant-api03-[a-zA-Z0-9_\\-]{93}AA)(?:[`'\"\\s;]|\\\\[nr]|$)"
  },
  {
    id: "artifactory-api-key",
    keywords: ["akcp"],
    pattern: "\\bAKCp[A-Za-z0-9]{69}\\b",
    entropy: 4.5
  },
  {
    id: "artifactory-reference-token",
    keywords: ["cmvmd"],
    pattern: "\\bcmVmd[A-Za-z0-9]{59}\\b",
    entropy: 4.5
  },
  {
    id: "asana-client-id",
    keywords: ["asana"],
    name: "asana",
    ignoreCase: true,
    value: "[0-9]{16}"
  },
  {
    id: "asana-client-secret",
    keywords: ["asana"],
    name: "asana",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{32}"
  },
  {
    id: "atlassian-api-token",
    keywords: ["atlassian", "confluence", "jira"],
    name: "(?:ATLASSIAN|[Aa]tlassian)|(?:CONFLUENCE|[Cc]onfluence)|(?:JIRA|[Jj]ira)",
    value: "[a-zA-Z0-9]{20}[a-fA-F0-9]{4}",
    entropy: 3.5
  },
  {
    id: "atlassian-api-token",
    keywords: ["atlassian", "confluence", "jira", "atatt3"],
    pattern: "\\b(?<secret>ATATT3[A-Za-z0-9_\\-=]{186})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 3.5
  },
  {
    id: "authress-service-client-access-key",
    keywords: ["sc_", "ext_", "scauth_", "authress_"],
    pattern:
      "\\b(?<secret>(?:sc|ext|scauth|authress)_[a-zA-Z0-9]{5,30}\\.[a-zA-Z0-9]{4,6}\\.(?:acc)[_-][a-zA-Z0-9-]{10,32}\\.[a-zA-Z0-9+/_=-]{30,120})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 2
  },
  {
    id: "aws-access-token",
    keywords: ["a3t", "akia", "asia", "abia", "acca"],
    pattern: "\\b(?<secret>(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16})\\b",
    entropy: 3,
    allowed: [".+EXAMPLE$"]
  },
  {
    id: "aws-amazon-bedrock-api-key-long-lived",
    keywords: ["absk"],
    pattern: "\\b(?<secret>ABSK[A-Za-z0-9+/]{109,269}={0,2})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 3
  },
  {
    id: "aws-amazon-bedrock-api-key-short-lived",
    keywords: ["bedrock-api-key-"],
    pattern: "bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t",
    entropy: 3
  },
  {
    id: "azure-ad-client-secret",
    keywords: ["0q~", "1q~", "2q~", "3q~", "4q~", "5q~", "6q~", "7q~", "8q~", "9q~"],
    pattern:
      "(?:^|[\\\\'\"`\\s>=:(,)])(?<secret>[a-zA-Z0-9_~.]{3}\\dQ~[a-zA-Z0-9_~.-]{31,34})(?:$|[\\\\'\"`\\s<),])",
    near: true,
    entropy: 3
  },
  {
    id: "beamer-api-token",
    keywords: ["beamer"],
    name: "beamer",
    ignoreCase: true,
    value: "[bB]_[a-zA-Z0-9=_\\-]{44}"
  },
  {
    id: "bitbucket-client-id",
    keywords: ["bitbucket"],
    name: "bitbucket",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{32}"
  },
  {
    id: "bitbucket-client-secret",
    keywords: ["bitbucket"],
    name: "bitbucket",
    ignoreCase: true,
    value: "[a-zA-Z0-9=_\\-]{64}"
  },
  {
    id: "bittrex-access-key",
    keywords: ["bittrex"],
    name: "bittrex",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{32}"
  },
  {
    id: "bittrex-secret-key",
    keywords: ["bittrex"],
    name: "bittrex",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{32}"
  },
  {
    id: "cisco-meraki-api-key",
    keywords: ["meraki"],
    name: "(?:[Mm]eraki|MERAKI)",
    value: "[0-9a-f]{40}",
    entropy: 3
  },
  {
    id: "clickhouse-cloud-api-secret-key",
    keywords: ["4b1d"],
    pattern: "\\b(?<secret>4b1d[A-Za-z0-9]{38})\\b",
    entropy: 3
  },
  {
    id: "clojars-api-token",
    keywords: ["clojars_"],
    pattern: "CLOJARS_[a-z0-9]{60}",
    ignoreCase: true,
    entropy: 2
  },
  {
    id: "cloudflare-api-key",
    keywords: ["cloudflare"],
    name: "cloudflare",
    ignoreCase: true,
    value: "[a-zA-Z0-9_-]{40}",
    entropy: 2
  },
  {
    id: "cloudflare-global-api-key",
    keywords: ["cloudflare"],
    name: "cloudflare",
    ignoreCase: true,
    value: "[a-fA-F0-9]{37}",
    entropy: 2
  },
  {
    id: "cloudflare-origin-ca-key",
    keywords: ["cloudflare", "v1.0-"],
    pattern: "\\b(?<secret>v1\\.0-[a-f0-9]{24}-[a-f0-9]{146})(?:[`'\"\\s;]|\\\\[nr]|$)",
    near: true,
    entropy: 2
  },
  {
    id: "codecov-access-token",
    keywords: ["codecov"],
    name: "codecov",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{32}"
  },
  {
    id: "cohere-api-token",
    keywords: ["cohere", "co_api_key"],
    name: "cohere|CO_API_KEY",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{40}",
    entropy: 4
  },
  {
    id: "coinbase-access-token",
    keywords: ["coinbase"],
    name: "coinbase",
    ignoreCase: true,
    value: "[a-zA-Z0-9_-]{64}"
  },
  {
    id: "confluent-access-token",
    keywords: ["confluent"],
    name: "confluent",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{16}"
  },
  {
    id: "confluent-secret-key",
    keywords: ["confluent"],
    name: "confluent",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{64}"
  },
  {
    id: "contentful-delivery-api-token",
    keywords: ["contentful"],
    name: "contentful",
    ignoreCase: true,
    value: "[a-zA-Z0-9=_\\-]{43}"
  },
  {
    id: "databricks-api-token",
    keywords: ["dapi"],
    pattern: "\\b(?<secret>dapi[a-f0-9]{32}(?:-\\d)?)(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 3
  },
  {
    id: "datadog-access-token",
    keywords: ["datadog"],
    name: "datadog",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{40}"
  },
  {
    id: "defined-networking-api-token",
    keywords: ["dnkey"],
    name: "dnkey",
    ignoreCase: true,
    value: "[dD][nN][kK][eE][yY]-[a-zA-Z0-9=_\\-]{26}-[a-zA-Z0-9=_\\-]{52}"
  },
  {
    id: "digitalocean-access-token",
    keywords: ["doo_v1_"],
    pattern: "\\b(?<secret>doo_v1_[a-f0-9]{64})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 3
  },
  {
    id: "digitalocean-pat",
    keywords: ["dop_v1_"],
    pattern: "\\b(?<secret>dop_v1_[a-f0-9]{64})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 3
  },
  {
    id: "digitalocean-refresh-token",
    keywords: ["dor_v1_"],
    pattern: "\\b(?<secret>dor_v1_[a-f0-9]{64})(?:[`'\"\\s;]|\\\\[nr]|$)",
    ignoreCase: true
  },
  {
    id: "discord-api-token",
    keywords: ["discord"],
    name: "discord",
    ignoreCase: true,
    value: "[a-fA-F0-9]{64}"
  },
  {
    id: "discord-client-id",
    keywords: ["discord"],
    name: "discord",
    ignoreCase: true,
    value: "[0-9]{18}",
    entropy: 2
  },
  {
    id: "discord-client-secret",
    keywords: ["discord"],
    name: "discord",
    ignoreCase: true,
    value: "[a-zA-Z0-9=_\\-]{32}",
    entropy: 2
  },
  {
    id: "doppler-api-token",
    keywords: ["dp.pt."],
    pattern: "dp\\.pt\\.[a-zA-Z0-9]{43}",
    entropy: 2
  },
  {
    id: "droneci-access-token",
    keywords: ["droneci"],
    name: "droneci",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{32}"
  },
  {
    id: "dropbox-api-token",
    keywords: ["dropbox"],
    name: "dropbox",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{15}"
  },
  {
    id: "dropbox-long-lived-api-token",
    keywords: ["dropbox"],
    name: "dropbox",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{11}(?:[aA][aA][aA][aA][aA][aA][aA][aA][aA][aA])[a-zA-Z0-9\\-_=]{43}"
  },
  {
    id: "dropbox-short-lived-api-token",
    keywords: ["dropbox"],
    name: "dropbox",
    ignoreCase: true,
    value: "[sS][lL]\\.[a-zA-Z0-9\\-=_]{135}"
  },
  {
    id: "duffel-api-token",
    keywords: ["duffel_"],
    pattern: "duffel_(?:test|live)_[a-zA-Z0-9_\\-=]{43}",
    entropy: 2
  },
  {
    id: "dynatrace-api-token",
    keywords: ["dt0c01."],
    pattern: "dt0c01\\.[a-zA-Z0-9]{24}\\.[a-zA-Z0-9]{64}",
    entropy: 4
  },
  {
    id: "easypost-api-token",
    keywords: ["ezak"],
    pattern: "\\bEZAK[a-zA-Z0-9]{54}\\b",
    entropy: 2
  },
  {
    id: "easypost-test-api-token",
    keywords: ["eztk"],
    pattern: "\\bEZTK[a-zA-Z0-9]{54}\\b",
    entropy: 2
  },
  {
    id: "etsy-access-token",
    keywords: ["etsy"],
    name: "(?:ETSY|[Ee]tsy)",
    value: "[a-zA-Z0-9]{24}",
    entropy: 3
  },
  {
    id: "facebook-access-token",
    keywords: ["facebook"],
    pattern: "\\b(?<secret>\\d{15,16}(?:\\||%)[0-9a-z\\-_]{27,40})(?:[`'\"\\s;]|\\\\[nr]|$)",
    ignoreCase: true,
    near: true,
    entropy: 3
  },
  {
    id: "facebook-page-access-token",
    keywords: ["eaam", "eaac"],
    pattern: "\\b(?<secret>EAA[MC][a-zA-Z0-9]{100,})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 4
  },
  {
    id: "facebook-secret",
    keywords: ["facebook"],
    name: "facebook",
    ignoreCase: true,
    value: "[a-fA-F0-9]{32}",
    entropy: 3
  },
  {
    id: "fastly-api-token",
    keywords: ["fastly"],
    name: "fastly",
    ignoreCase: true,
    value: "[a-zA-Z0-9=_\\-]{32}"
  },
  {
    id: "finicity-api-token",
    keywords: ["finicity"],
    name: "finicity",
    ignoreCase: true,
    value: "[a-fA-F0-9]{32}"
  },
  {
    id: "finicity-client-secret",
    keywords: ["finicity"],
    name: "finicity",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{20}"
  },
  {
    id: "finnhub-access-token",
    keywords: ["finnhub"],
    name: "finnhub",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{20}"
  },
  {
    id: "flickr-access-token",
    keywords: ["flickr"],
    name: "flickr",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{32}"
  },
  {
    id: "flutterwave-encryption-key",
    keywords: ["flwseck_test"],
    pattern: "FLWSECK_TEST-[a-hA-H0-9]{12}",
    entropy: 2
  },
  {
    id: "flutterwave-public-key",
    keywords: ["flwpubk_test"],
    pattern: "FLWPUBK_TEST-[a-hA-H0-9]{32}-[xX]",
    entropy: 2
  },
  {
    id: "flutterwave-secret-key",
    keywords: ["flwseck_test"],
    pattern: "FLWSECK_TEST-[a-hA-H0-9]{32}-[xX]",
    entropy: 2
  },
  {
    id: "flyio-access-token",
    keywords: ["fo1_", "fm1", "fm2_"],
    pattern:
      "\\b(?<secret>(?:fo1_[\\w-]{43}|fm1[ar]_[a-zA-Z0-9+\\/]{100,}={0,3}|fm2_[a-zA-Z0-9+\\/]{100,}={0,3}))(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 4
  },
  {
    id: "frameio-api-token",
    keywords: ["fio-u-"],
    pattern: "fio-u-[a-zA-Z0-9\\-_=]{64}"
  },
  {
    id: "freemius-secret-key",
    keywords: ["secret_key"],
    pattern: "[\"']secret_key[\"']\\s*=>\\s*[\"'](?<secret>sk_[\\S]{29})[\"']",
    ignoreCase: true,
    near: true
  },
  {
    id: "freshbooks-access-token",
    keywords: ["freshbooks"],
    name: "freshbooks",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{64}"
  },
  {
    id: "gcp-api-key",
    keywords: ["aiza"],
    pattern: "\\b(?<secret>AIza[\\w-]{35})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 4,
    allowed: [
      "AIzaSyabcdefghijklmnopqrstuvwxyz1234567",
      "AIzaSyAnLA7NfeLquW1tJFpx_eQCxoX-oo6YyIs",
      "AIzaSyCkEhVjf3pduRDt6d1yKOMitrUEke8agEM",
      "AIzaSyDMAScliyLx7F0NPDEJi1QmyCgHIAODrlU",
      "AIzaSyD3asb-2pEZVqMkmL6M9N6nHZRR_znhrh0",
      "AIzayDNSXIbFmlXbIE6mCzDLQAqITYefhixbX4A",
      "AIzaSyAdOS2zB6NCsk1pCdZ4-P6GBdi_UUPwX7c",
      "AIzaSyASWm6HmTMdYWpgMnjRBjxcQ9CKctWmLd4",
      "AIzaSyANUvH9H9BsUccjsu2pCmEkOPjjaXeDQgY",
      "AIzaSyA5_iVawFQ8ABuTZNUdcwERLJv_a_p4wtM",
      "AIzaSyA4UrcGxgwQFTfaI3no3t7Lt1sjmdnP5sQ",
      "AIzaSyDSb51JiIcB6OJpwwMicseKRhhrOq1cS7g",
      "AIzaSyBF2RrAIm4a0mO64EShQfqfd2AFnzAvvuU",
      "AIzaSyBcE-OOIbhjyR83gm4r2MFCu4MJmprNXsw",
      "AIzaSyB8qGxt4ec15vitgn44duC5ucxaOi4FmqE",
      "AIzaSyA8vmApnrHNFE0bApF4hoZ11srVL_n0nvY"
    ]
  },
  {
    id: "generic-api-key",
    keywords: [
      "access",
      "api",
      "auth",
      "key",
      "credential",
      "creds",
      "passwd",
      "password",
      "secret",
      "token"
    ],
    name: "[aA][cC][cC][eE][sS][sS]|[aA][uU][tT][hH]|(?:[Aa]pi|API)|[cC][rR][eE][dD][eE][nN][tT][iI][aA][lL]|[cC][rR][eE][dD][sS]|[kK][eE][yY]|[pP][aA][sS][sS][wW](?:[oO][rR])?[dD]|[sS][eE][cC][rR][eE][tT]|[tT][oO][kK][eE][nN]",
    value: "[\\w.=-]{10,150}|[a-zA-Z0-9][a-zA-Z0-9+/]{11,}={0,3}",
    delimited: true,
    entropy: 3.5,
    allowed: ["^[a-zA-Z_.-]+$"],
    allowedMatch: [
      "(?:[aA][cC][cC][eE][sS][sS](?:[iI][bB][iI][lL][iI][tT][yY]|[oO][rR])|[aA][cC][cC][eE][sS][sS][_.-]?[iI][dD]|[rR][aA][nN][dD][oO][mM][_.-]?[aA][cC][cC][eE][sS][sS]|[aA][pP][iI][_.-]?(?:[iI][dD]|[nN][aA][mM][eE]|[vV][eE][rR][sS][iI][oO][nN])|[rR][aA][pP][iI][dD]|[cC][aA][pP][iI][tT][aA][lL]|[a-zA-Z0-9-]*?[aA][pP][iI][a-zA-Z0-9-]*?:[jJ][aA][rR]:|[aA][uU][tT][hH][oO][rR]|[xX]-[mM][sS]-[eE][xX][cC][hH][aA][nN][gG][eE]-[oO][rR][gG][aA][nN][iI][zZ][aA][tT][iI][oO][nN]-[aA][uU][tT][hH]|[aA][uU][tT][hH][eE][nN][tT][iI][cC][aA][tT][iI][oO][nN]-[rR][eE][sS][uU][lL][tT][sS]|(?:[cC][rR][eE][dD][eE][nN][tT][iI][aA][lL][sS]?[_.-]?[iI][dD]|[wW][iI][tT][hH][cC][rR][eE][dD][eE][nN][tT][iI][aA][lL][sS])|(?:[bB][uU][cC][kK][eE][tT]|[fF][oO][rR][eE][iI][gG][nN]|[hH][oO][tT]|[iI][dD][xX]|[nN][aA][tT][uU][rR][aA][lL]|[pP][rR][iI][mM][aA][rR][yY]|[pP][uU][bB](?:[lL][iI][cC])?|[sS][cC][hH][eE][mM][aA]|[sS][eE][qQ][uU][eE][nN][cC][eE])[_.-]?[kK][eE][yY]|(?:[tT][uU][rR][kK][eE][yY])|[kK][eE][yY][_.-]?(?:[aA][lL][iI][aA][sS]|[bB][oO][aA][rR][dD]|[cC][oO][dD][eE]|[fF][rR][aA][mM][eE]|[iI][dD]|[lL][eE][nN][gG][tT][hH]|[mM][eE][sS][hH]|[nN][aA][mM][eE]|[pP][aA][iI][rR]|[pP][rR][eE][sS][sS](?:[eE][dD])?|[rR][iI][nN][gG]|[sS][eE][lL][eE][cC][tT][oO][rR]|[sS][iI][gG][nN][aA][tT][uU][rR][eE]|[sS][iI][zZ][eE]|[sS][tT][oO][nN][eE]|[sS][tT][oO][rR][eE][tT][yY][pP][eE]|[wW][oO][rR][dD]|[uU][pP]|[dD][oO][wW][nN]|[lL][eE][fF][tT]|[rR][iI][gG][hH][tT])|[kK][eE][yY][_.-]?[vV][aA][uU][lL][tT][_.-]?(?:[iI][dD]|[nN][aA][mM][eE])|[kK][eE][yY][vV][aA][uU][lL][tT][tT][oO][sS][tT][oO][rR][eE][sS][eE][cC][rR][eE][tT][sS]|[kK][eE][yY](?:[sS][tT][oO][rR][eE]|[tT][aA][bB])[_.-]?(?:[fF][iI][lL][eE]|[pP][aA][tT][hH])|[iI][sS][sS][uU][eE][rR][kK][eE][yY][hH][aA][sS][hH]|(?:[DdMm]onkey|[DM]ONKEY)|[kK][eE][yY][iI][nN][gG]|(?:[sS][eE][cC][rR][eE][tT])[_.-]?(?:[lL][eE][nN][gG][tT][hH]|[nN][aA][mM][eE]|[sS][iI][zZ][eE])|[uU][sS][eE][rR][sS][eE][cC][rR][eE][tT][sS][iI][dD]|(?:[cC][sS][rR][fF])[_.-]?[tT][oO][kK][eE][nN]|(?:[iI][oO]\\.[jJ][sS][oO][nN][wW][eE][bB][tT][oO][kK][eE][nN][ \\t]?:[ \\t]?[\\w-]+)|(?:[aA][pP][iI]|[cC][rR][eE][dD][eE][nN][tT][iI][aA][lL][sS]|[tT][oO][kK][eE][nN])[_.-]?(?:[eE][nN][dD][pP][oO][iI][nN][tT]|[uU][rR][iIlL])|[pP][uU][bB][lL][iI][cC][_.-]?[tT][oO][kK][eE][nN]|(?:[kK][eE][yY]|[tT][oO][kK][eE][nN])[_.-]?[fF][iI][lL][eE]|(?:(?:[A-Z_]+=\\n[A-Z_]+=|[a-z_]+=\\n[a-z_]+=)(?:\\n|$))|(?:(?:[A-Z.]+=\\n[A-Z.]+=|[a-z.]+=\\n[a-z.]+=)(?:\\n|$)))"
    ],
    stopwords:
      "000000 6fe4476ee5a1832882e326b506d14126 _ec2_ aaaaaa about abstract academy acces account act- act. act_ action active actively activity adapter add- add-on add. add_ addon addres admin adobe advanced adventure agent agile air- air. air_ ajax akka alert alfred algorithm all- all. all_ alloy alpha amazon amqp analysi analytic analyzer android angular angularj animate animation another ansible answer ant- ant. ant_ any- any. any_ apache app- app. app_ apple arch archive archived arduino array art- art. art_ article asp- asp. asp_ asset async atom attention audio audit aura auth author authorize auto automated automatic awesome aws_ azure back backbone backend backup bar- bar. bar_ base based bash basic batch been beer behavior being benchmark best beta better big- big. big_ binary binding bit- bit. bit_ bitcoin block blog board book bookmark boost boot bootstrap bosh bot- bot. bot_ bower box- box. box_ boxen bracket branch bridge browser brunch buffer bug- bug. bug_ build builder building buildout buildpack built bundle busines but- but. but_ button cache caching cakephp calendar call camera campfire can- can. can_ canva captcha capture card carousel case cassandra cat- cat. cat_ category center cento challenge change changelog channel chart chat cheat check checker chef ches chinese chosen chrome ckeditor clas classe classic clean cli- cli. cli_ client clojure clone closure cloud club cluster cms- cms_ coco code coding coffee color combination combo command commander comment commit common community compas compiler complete component composer computer computing con- con. con_ concept conf config connect connector console contact container contao content contest context control convert converter conway' cookbook cookie cool copy cordova core couchbase couchdb countdown counter course craft crawler create creating creator credential crm- crm. crm_ cros crud csv- csv. csv_ cube cucumber cuda current currently custom daemon dark dart dash dashboard data database date day- day. day_ dead debian debug debugger deck define del- del. del_ delete demo deploy design designer desktop detection detector dev- dev. dev_ develop developer device devise diff digital directive directory discovery display django dns- dns_ doc- doc. doc_ docker docpad doctrine document doe- doe. doe_ dojo dom- dom. dom_ domain don't done dot- dot. dot_ dotfile download draft drag drill drive driven driver drop dropbox drupal dsl- dsl. dsl_ dynamic easy ecdsa eclipse edit editing edition editor element emac email embed embedded ember emitter emulator encoding endpoint engine english enhanced entity entry env_ episode erlang error espresso event evented example exchange exercise experiment expire exploit explorer export exporter expres ext- ext. ext_ extended extension external extra extractor fabric facebook factory fake fast feature feed fewfwef ffmpeg field file filter find finder firefox firmware first fish fix- fix_ flash flask flat flex flexible flickr flow fluent fluentd fluid folder font force foreman fork form format formatter forum foundry framework free friend friendly front-end frontend ftp- ftp. ftp_ fuel full fun- fun. fun_ func future gaia gallery game gateway gem- gem. gem_ gen- gen. gen_ general generator generic genetic get- get. get_ getenv getting ghost gist git- git. git_ github gitignore gitlab glas gmail gnome gnu- gnu. gnu_ goal golang gollum good google gpu- gpu. gpu_ gradle grail graph graphic great grid groovy group grunt guard gui- gui. gui_ guide guideline gulp gwt- gwt. gwt_ hack hackathon hacker hacking hadoop haml handler hardware has- has_ hash haskell have haxe hello help helper here hero heroku high hipchat history home homebrew homepage hook host hosting hot- hot. hot_ house how- how. how_ html http hub- hub. hub_ hubot human icon ide- ide. ide_ idea identity idiomatic image impact import important importer impres index infinite info injection inline input inside inspector instagram install installer instant intellij interface internet interview into intro ionic iphone ipython irc- irc_ iso- iso. iso_ issue jade jasmine java jbos jekyll jenkin jetbrains job- job. job_ joomla jpa- jpa. jpa_ jquery json just kafka karma kata kernel keyboard kindle kit- kit. kit_ kitchen knife koan kohana lab- lab. lab_ lambda lamp language laravel last latest latex launcher layer layout lazy ldap leaflet league learn learning led- led. led_ leetcode les- les. les_ level leveldb lib- lib. lib_ librarie library license life liferay light lightbox like line link linked linkedin linux lisp list lite little load loader local location lock log- log. log_ logger logging logic login logstash longer look love lua- lua. lua_ mac- mac. mac_ machine made magento magic mail make maker making man- man. man_ manage manager manifest manual map- map. map_ mapper mapping markdown markup master math matrix maven md5 mean media mediawiki meetup memcached memory menu merchant message messaging meta metadata meteor method metric micro middleman migration minecraft miner mini minimal mirror mit- mit. mit_ mobile mocha mock mod- mod. mod_ mode model modern modular module modx money mongo mongodb mongoid mongoose monitor monkey more motion moved movie mozilla mqtt mule multi multiple music mustache mvc- mvc. mvc_ mysql nagio name native need neo- neo. neo_ nest nested net- net. net_ nette network new- new. new_ next nginx ninja nlp- nlp. nlp_ node nodej nosql not- not. not_ note notebook notepad notice notifier now- now. now_ number oauth object objective obsolete ocaml octopres official old- old. old_ onboard online only open opencv opengl openshift openwrt option oracle org- org. org_ origin original orm- orm. orm_ osx- osx_ our- our. our_ out- out. out_ output over overview own- own. own_ pack package packet page panel paper paperclip para parallax parallel parse parser parsing particle party password patch path pattern payment paypal pdf- pdf. pdf_ pebble people perl personal phalcon phoenix phone phonegap photo php- php. php_ physic picker pipeline platform play player please plu- plu. plu_ plug-in plugin plupload png- png. png_ poker polyfill polymer pool pop- pop. pop_ popcorn popup port portable portal portfolio post power powered powerful prelude pretty preview principle print pro- pro. pro_ problem proc product profile profiler program progres project protocol prototype provider proxy public pull puppet pure purpose push pusher pyramid python quality query queue quick rabbitmq rack radio rail railscast random range raspberry rdf- rdf. rdf_ react reactive read reader readme ready real real-time reality realtime recipe recorder red- red. red_ reddit redi redmine reference refinery refresh registry related release remote rendering repo report request require required requirej research resource response resque rest restful resume reveal reverse review riak rich right ring robot role room router routing rpc- rpc. rpc_ rpg- rpg. rpg_ rspec ruby- ruby. ruby_ rule run- run. run_ runner running runtime rust rvm- rvm. rvm_ salt sample sandbox sas- sas. sas_ sbt- sbt. sbt_ scala scalable scanner schema scheme school science scraper scratch screen script scroll scs- scs. scs_ sdk- sdk. sdk_ sdl- sdl. sdl_ search secure security see- see. see_ seed select selector selenium semantic sencha send sentiment serie server service session set- set. set_ setting setup sha1 sha2 sha256 share shared sharing sheet shell shield shipping shop shopify shortener should show showcase side silex simple simulator single site skeleton sketch skin slack slide slider slim small smart smtp snake snapshot snippet soap social socket software solarized solr solution solver some soon source space spark spatial spec sphinx spine spotify spree spring sprite sql- sql. sql_ sqlite ssh- ssh. ssh_ stack staging standard stanford start started starter startup stat statamic state static statistic statsd statu steam step still stm- stm. stm_ storage store storm story strategy stream streaming string stripe structure studio study stuff style sublime sugar suite summary super support supported svg- svg. svg_ svn- svn. svn_ swagger swift switch switcher symfony symphony sync synopsi syntax system tab- tab. tab_ table tag- tag. tag_ talk target task tcp- tcp. tcp_ tdd- tdd. tdd_ team tech template term terminal testing tetri text textmate theme theory three thrift time timeline timer tiny tinymce tip- tip. tip_ title todo todomvc token tool toolbox toolkit top- top. top_ tornado touch tower tracker tracking traffic training transfer translate transport tree trello try- try. try_ tumblr tut- tut. tut_ tutorial tweet twig twitter type typo ubuntu uiview ultimate under unit unity universal unix update updated upgrade upload uploader uri- uri. uri_ url- url. url_ usage usb- usb. usb_ use- use. use_ used useful user using util utilitie utility vagrant validator value variou varnish version via- via. via_ video view viewer vim- vim. vim_ vimrc virtual vision visual vpn want warning watch watcher wave way- way. way_ weather web- web_ webapp webgl webhook webkit webrtc website websocket welcome what what' when where which why- why. why_ widget wifi wiki win- win. win_ window wip- wip. wip_ within without wizard word wordpres work worker workflow working workshop world wrapper write writer writing written www- www. www_ xamarin xcode xml- xml. xml_ xmpp xxxxxx yahoo yaml yandex yeoman yet- yet. yet_ yii- yii. yii_ youtube yui- yui. yui_ zend zero zip- zip. zip_ zsh- zsh. zsh_"
  },
  {
    id: "github-app-token",
    keywords: ["ghu_", "ghs_"],
    pattern: "(?:ghu|ghs)_[0-9a-zA-Z]{36}",
    entropy: 3
  },
  {
    id: "github-fine-grained-pat",
    keywords: ["github_pat_"],
    pattern: "github_pat_\\w{82}",
    entropy: 3
  },
  {
    id: "github-oauth",
    keywords: ["gho_"],
    pattern: "gho_[0-9a-zA-Z]{36}",
    entropy: 3
  },
  {
    id: "github-pat",
    keywords: ["ghp_"],
    pattern: "ghp_[0-9a-zA-Z]{36}",
    entropy: 3
  },
  {
    id: "github-refresh-token",
    keywords: ["ghr_"],
    pattern: "ghr_[0-9a-zA-Z]{36}",
    entropy: 3
  },
  {
    id: "gitlab-cicd-job-token",
    keywords: ["glcbt-"],
    pattern: "glcbt-[0-9a-zA-Z]{1,5}_[0-9a-zA-Z_-]{20}",
    entropy: 3
  },
  {
    id: "gitlab-deploy-token",
    keywords: ["gldt-"],
    pattern: "gldt-[0-9a-zA-Z_\\-]{20}",
    entropy: 3
  },
  {
    id: "gitlab-feature-flag-client-token",
    keywords: ["glffct-"],
    pattern: "glffct-[0-9a-zA-Z_\\-]{20}",
    entropy: 3
  },
  {
    id: "gitlab-feed-token",
    keywords: ["glft-"],
    pattern: "glft-[0-9a-zA-Z_\\-]{20}",
    entropy: 3
  },
  {
    id: "gitlab-incoming-mail-token",
    keywords: ["glimt-"],
    pattern: "glimt-[0-9a-zA-Z_\\-]{25}",
    entropy: 3
  },
  {
    id: "gitlab-kubernetes-agent-token",
    keywords: ["glagent-"],
    pattern: "glagent-[0-9a-zA-Z_\\-]{50}",
    entropy: 3
  },
  {
    id: "gitlab-oauth-app-secret",
    keywords: ["gloas-"],
    pattern: "gloas-[0-9a-zA-Z_\\-]{64}",
    entropy: 3
  },
  {
    id: "gitlab-pat",
    keywords: ["glpat-"],
    pattern: "glpat-[\\w-]{20}",
    entropy: 3
  },
  {
    id: "gitlab-pat-routable",
    keywords: ["glpat-"],
    pattern: "\\bglpat-[0-9a-zA-Z_-]{27,300}\\.[0-9a-z]{2}[0-9a-z]{7}\\b",
    entropy: 4
  },
  {
    id: "gitlab-ptt",
    keywords: ["glptt-"],
    pattern: "glptt-[0-9a-f]{40}",
    entropy: 3
  },
  {
    id: "gitlab-rrt",
    keywords: ["gr1348941"],
    pattern: "GR1348941[\\w-]{20}",
    entropy: 3
  },
  {
    id: "gitlab-runner-authentication-token",
    keywords: ["glrt-"],
    pattern: "glrt-[0-9a-zA-Z_\\-]{20}",
    entropy: 3
  },
  {
    id: "gitlab-runner-authentication-token-routable",
    keywords: ["glrt-"],
    pattern: "\\bglrt-t\\d_[0-9a-zA-Z_\\-]{27,300}\\.[0-9a-z]{2}[0-9a-z]{7}\\b",
    entropy: 4
  },
  {
    id: "gitlab-scim-token",
    keywords: ["glsoat-"],
    pattern: "glsoat-[0-9a-zA-Z_\\-]{20}",
    entropy: 3
  },
  {
    id: "gitlab-session-cookie",
    keywords: ["_gitlab_session="],
    pattern: "_gitlab_session=[0-9a-z]{32}",
    entropy: 3
  },
  {
    id: "gitter-access-token",
    keywords: ["gitter"],
    name: "gitter",
    ignoreCase: true,
    value: "[a-zA-Z0-9_-]{40}"
  },
  {
    id: "gocardless-api-token",
    keywords: ["gocardless"],
    name: "gocardless",
    ignoreCase: true,
    value: "[lL][iI][vV][eE]_[a-zA-Z0-9\\-_=]{40}"
  },
  {
    id: "grafana-api-key",
    keywords: ["eyjrijoi"],
    pattern: "\\b(?<secret>eyJrIjoi[A-Za-z0-9]{70,400}={0,3})(?:[`'\"\\s;]|\\\\[nr]|$)",
    ignoreCase: true,
    entropy: 3
  },
  {
    id: "grafana-cloud-api-token",
    keywords: ["glc_"],
    pattern: "\\b(?<secret>glc_[A-Za-z0-9+/]{32,400}={0,3})(?:[`'\"\\s;]|\\\\[nr]|$)",
    ignoreCase: true,
    entropy: 3
  },
  {
    id: "grafana-service-account-token",
    keywords: ["glsa_"],
    pattern: "\\b(?<secret>glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8})(?:[`'\"\\s;]|\\\\[nr]|$)",
    ignoreCase: true,
    entropy: 3
  },
  {
    id: "harness-api-key",
    keywords: ["pat.", "sat."],
    pattern: "(?:pat|sat)\\.[a-zA-Z0-9_-]{22}\\.[a-zA-Z0-9]{24}\\.[a-zA-Z0-9]{20}"
  },
  {
    id: "hashicorp-tf-api-token",
    keywords: ["atlasv1"],
    pattern: "[a-zA-Z0-9]{14}\\.(?:atlasv1)\\.[a-zA-Z0-9\\-_=]{60,70}",
    near: true,
    entropy: 3.5
  },
  {
    id: "hashicorp-tf-password",
    keywords: ["administrator_login_password", "password"],
    name: "administrator_login_password|password",
    ignoreCase: true,
    value: '"[a-zA-Z0-9=_\\-]{8,20}"',
    entropy: 2
  },
  {
    id: "heroku-api-key",
    keywords: ["heroku"],
    name: "heroku",
    ignoreCase: true,
    value: "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
  },
  {
    id: "heroku-api-key-v2",
    keywords: ["hrku-aa"],
    pattern: "\\b(?<secret>(?:HRKU-AA[0-9a-zA-Z_-]{58}))(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 4
  },
  {
    id: "hubspot-api-key",
    keywords: ["hubspot"],
    name: "hubspot",
    ignoreCase: true,
    value: "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"
  },
  {
    id: "huggingface-access-token",
    keywords: ["hf_"],
    pattern: "\\b(?<secret>hf_(?:[a-zA-Z]{34}))(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 2
  },
  {
    id: "huggingface-organization-api-token",
    keywords: ["api_org_"],
    pattern: "\\b(?<secret>api_org_(?:[a-zA-Z]{34}))(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 2
  },
  {
    id: "infracost-api-token",
    keywords: ["ico-"],
    pattern: "\\b(?<secret>ico-[a-zA-Z0-9]{32})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 3
  },
  {
    id: "intercom-api-key",
    keywords: ["intercom"],
    name: "intercom",
    ignoreCase: true,
    value: "[a-zA-Z0-9=_\\-]{60}"
  },
  {
    id: "intra42-client-secret",
    keywords: ["intra", "s-s4t2ud-", "s-s4t2af-"],
    pattern: "\\b(?<secret>s-s4t2(?:ud|af)-[aAbBcCdDeEfF0123456789]{64})(?:[`'\"\\s;]|\\\\[nr]|$)",
    near: true,
    entropy: 3
  },
  {
    id: "jfrog-api-key",
    keywords: ["jfrog", "artifactory", "bintray", "xray"],
    name: "jfrog|artifactory|bintray|xray",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{73}"
  },
  {
    id: "jfrog-identity-token",
    keywords: ["jfrog", "artifactory", "bintray", "xray"],
    name: "jfrog|artifactory|bintray|xray",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{64}"
  },
  {
    id: "jwt-base64",
    keywords: ["zxlk"],
    pattern:
      "\\bZXlK(?:(?:aGJHY2lPaU)|(?:aGNIVWlPaU)|(?:aGNIWWlPaU)|(?:aGRXUWlPaU)|(?:aU5qUWlP)|(?:amNtbDBJanBi)|(?:amRIa2lPaU)|(?:bGNHc2lPbn)|(?:bGJtTWlPaU)|(?:cWEzVWlPaU)|(?:cWQyc2lPb)|(?:cGMzTWlPaU)|(?:cGRpSTZJ)|(?:cmFXUWlP)|(?:clpYbGZiM0J6SWpwY)|(?:cmRIa2lPaUp)|(?:dWIyNWpaU0k2)|(?:d01tTWlP)|(?:d01uTWlPaU)|(?:d2NIUWlPaU)|(?:emRXSWlPaU)|(?:emRuUWlP)|(?:MFlXY2lPaU)|(?:MGVYQWlPaUp)|(?:MWNtd2l)|(?:MWMyVWlPaUp)|(?:MlpYSWlPaU)|(?:MlpYSnphVzl1SWpv)|(?:NElqb2)|(?:NE5XTWlP)|(?:NE5YUWlPaU)|(?:NE5YUWpVekkxTmlJNkl)|(?:NE5YVWlPaU)|(?:NmFYQWlPaU))[a-zA-Z0-9\\/\\\\_+\\-\\r\\n]{40,}={0,2}",
    entropy: 2
  },
  {
    id: "kraken-access-token",
    keywords: ["kraken"],
    name: "kraken",
    ignoreCase: true,
    value: "[a-zA-Z0-9\\/=_\\+\\-]{80,90}"
  },
  {
    id: "kucoin-access-token",
    keywords: ["kucoin"],
    name: "kucoin",
    ignoreCase: true,
    value: "[a-fA-F0-9]{24}"
  },
  {
    id: "kucoin-secret-key",
    keywords: ["kucoin"],
    name: "kucoin",
    ignoreCase: true,
    value: "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
  },
  {
    id: "launchdarkly-access-token",
    keywords: ["launchdarkly"],
    name: "launchdarkly",
    ignoreCase: true,
    value: "[a-zA-Z0-9=_\\-]{40}"
  },
  {
    id: "linear-api-key",
    keywords: ["lin_api_"],
    pattern: "lin_api_[a-zA-Z0-9]{40}",
    entropy: 2
  },
  {
    id: "linear-client-secret",
    keywords: ["linear"],
    name: "linear",
    ignoreCase: true,
    value: "[a-fA-F0-9]{32}",
    entropy: 2
  },
  {
    id: "linkedin-client-id",
    keywords: ["linkedin", "linked_in", "linked-in"],
    name: "linked[_-]?in",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{14}",
    entropy: 2
  },
  {
    id: "linkedin-client-secret",
    keywords: ["linkedin", "linked_in", "linked-in"],
    name: "linked[_-]?in",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{16}",
    entropy: 2
  },
  {
    id: "lob-api-key",
    keywords: ["lob"],
    name: "lob",
    ignoreCase: true,
    value: "(?:[lL][iI][vV][eE]|[tT][eE][sS][tT])_[a-fA-F0-9]{35}"
  },
  {
    id: "lob-pub-api-key",
    keywords: ["lob"],
    name: "lob",
    ignoreCase: true,
    value: "(?:[tT][eE][sS][tT]|[lL][iI][vV][eE])_[pP][uU][bB]_[a-fA-F0-9]{31}"
  },
  {
    id: "looker-client-id",
    keywords: ["looker"],
    name: "looker",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{20}"
  },
  {
    id: "looker-client-secret",
    keywords: ["looker"],
    name: "looker",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{24}"
  },
  {
    id: "mailchimp-api-key",
    keywords: ["mailchimp"],
    name: "MailchimpSDK.initialize|mailchimp",
    ignoreCase: true,
    value: "[a-fA-F0-9]{32}-[uU][sS]\\d\\d"
  },
  {
    id: "mailgun-private-api-token",
    keywords: ["mailgun"],
    name: "mailgun",
    ignoreCase: true,
    value: "[kK][eE][yY]-[a-fA-F0-9]{32}"
  },
  {
    id: "mailgun-pub-key",
    keywords: ["mailgun"],
    name: "mailgun",
    ignoreCase: true,
    value: "[pP][uU][bB][kK][eE][yY]-[a-fA-F0-9]{32}"
  },
  {
    id: "mailgun-signing-key",
    keywords: ["mailgun"],
    name: "mailgun",
    ignoreCase: true,
    value: "[a-hA-H0-9]{32}-[a-hA-H0-9]{8}-[a-hA-H0-9]{8}"
  },
  {
    id: "mapbox-api-token",
    keywords: ["mapbox"],
    name: "mapbox",
    ignoreCase: true,
    value: "[pP][kK]\\.[a-zA-Z0-9]{60}\\.[a-zA-Z0-9]{22}"
  },
  {
    id: "mattermost-access-token",
    keywords: ["mattermost"],
    name: "mattermost",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{26}"
  },
  {
    id: "maxmind-license-key",
    keywords: ["_mmk"],
    pattern: "\\b(?<secret>[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk)(?:[`'\"\\s;]|\\\\[nr]|$)",
    near: true,
    entropy: 4
  },
  {
    id: "messagebird-api-token",
    keywords: ["messagebird", "message-bird", "message_bird"],
    name: "message[_-]?bird",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{25}"
  },
  {
    id: "messagebird-client-id",
    keywords: ["messagebird", "message-bird", "message_bird"],
    name: "message[_-]?bird",
    ignoreCase: true,
    value: "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
  },
  {
    id: "netlify-access-token",
    keywords: ["netlify"],
    name: "netlify",
    ignoreCase: true,
    value: "[a-zA-Z0-9=_\\-]{40,46}"
  },
  {
    id: "new-relic-browser-api-token",
    keywords: ["new-relic", "newrelic", "new_relic"],
    name: "new-relic|newrelic|new_relic",
    ignoreCase: true,
    value: "[nN][rR][jJ][sS]-[a-fA-F0-9]{19}"
  },
  {
    id: "new-relic-insert-key",
    keywords: ["new-relic", "newrelic", "new_relic"],
    name: "new-relic|newrelic|new_relic",
    ignoreCase: true,
    value: "[nN][rR][iI][iI]-[a-zA-Z0-9-]{32}"
  },
  {
    id: "new-relic-user-api-id",
    keywords: ["new-relic", "newrelic", "new_relic"],
    name: "new-relic|newrelic|new_relic",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{64}"
  },
  {
    id: "new-relic-user-api-key",
    keywords: ["new-relic", "newrelic", "new_relic"],
    name: "new-relic|newrelic|new_relic",
    ignoreCase: true,
    value: "[nN][rR][aA][kK]-[a-zA-Z0-9]{27}"
  },
  {
    id: "notion-api-token",
    keywords: ["ntn_"],
    pattern: "\\b(?<secret>ntn_[0-9]{11}[A-Za-z0-9]{32}[A-Za-z0-9]{3})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 4
  },
  {
    id: "npm-access-token",
    keywords: ["npm_"],
    pattern: "\\b(?<secret>npm_[a-z0-9]{36})(?:[`'\"\\s;]|\\\\[nr]|$)",
    ignoreCase: true,
    entropy: 2
  },
  {
    id: "nuget-config-password",
    keywords: ["<add key="],
    pattern: '<add key=\\"(?:(?:ClearText)?Password)\\"\\s*value=\\"(?<secret>.{8,256})\\"\\s*\\/>',
    ignoreCase: true,
    entropy: 1,
    allowed: ["33f!!lloppa", "hal\\+9ooo_da!sY", "^\\%\\S.*\\%$"]
  },
  {
    id: "nytimes-access-token",
    keywords: ["nytimes", "newyorktimes"],
    name: "nytimes|new-york-times,|newyorktimes",
    ignoreCase: true,
    value: "[a-zA-Z0-9=_\\-]{32}"
  },
  {
    id: "octopus-deploy-api-key",
    keywords: ["api-"],
    pattern: "\\b(?<secret>API-[A-Z0-9]{26})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 3
  },
  {
    id: "okta-access-token",
    keywords: ["okta"],
    name: "(?:[Oo]kta|OKTA)",
    value: "00[\\w=\\-]{40}",
    entropy: 4
  },
  {
    id: "openai-api-key",
    keywords: ["t3blbkfj"],
    pattern:
      "\\b(?<secret>sk-(?:proj|svcacct|admin)-(?:[A-Za-z0-9_-]{74}|[A-Za-z0-9_-]{58})T3BlbkFJ(?:[A-Za-z0-9_-]{74}|[A-Za-z0-9_-]{58})\\b|sk-[a-zA-Z0-9]{20}T3BlbkFJ[a-zA-Z0-9]{20})(?:[`'\"\\s;]|\\\\[nr]|$)",
    near: true,
    entropy: 3
  },
  {
    id: "openshift-user-token",
    keywords: ["sha256~"],
    pattern: "\\b(?<secret>sha256~[\\w-]{43})(?:[^\\w-]|$)",
    entropy: 3.5
  },
  {
    id: "perplexity-api-key",
    keywords: ["pplx-"],
    pattern: "\\b(?<secret>pplx-[a-zA-Z0-9]{48})(?:[`'\"\\s;]|\\\\[nr]|$|\\b)",
    entropy: 4
  },
  {
    id: "plaid-api-token",
    keywords: ["plaid"],
    name: "plaid",
    ignoreCase: true,
    value:
      "[aA][cC][cC][eE][sS][sS]-(?:[sS][aA][nN][dD][bB][oO][xX]|[dD][eE][vV][eE][lL][oO][pP][mM][eE][nN][tT]|[pP][rR][oO][dD][uU][cC][tT][iI][oO][nN])-[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
  },
  {
    id: "plaid-client-id",
    keywords: ["plaid"],
    name: "plaid",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{24}",
    entropy: 3.5
  },
  {
    id: "plaid-secret-key",
    keywords: ["plaid"],
    name: "plaid",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{30}",
    entropy: 3.5
  },
  {
    id: "planetscale-api-token",
    keywords: ["pscale_tkn_"],
    pattern: "\\b(?<secret>pscale_tkn_[\\w=\\.-]{32,64})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 3
  },
  {
    id: "planetscale-oauth-token",
    keywords: ["pscale_oauth_"],
    pattern: "\\b(?<secret>pscale_oauth_[\\w=\\.-]{32,64})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 3
  },
  {
    id: "planetscale-password",
    keywords: ["pscale_pw_"],
    pattern: "\\b(?<secret>[pP][sS][cC][aA][lL][eE]_[pP][wW]_[\\w=\\.-]{32,64})(?:[`'\"\\s;]|\\\\[nNrR]|$)",
    entropy: 3
  },
  {
    id: "postman-api-token",
    keywords: ["pmak-"],
    pattern: "\\b(?<secret>PMAK-[a-fA-F0-9]{24}\\-[a-fA-F0-9]{34})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 3
  },
  {
    id: "prefect-api-token",
    keywords: ["pnu_"],
    pattern: "\\b(?<secret>pnu_[a-zA-Z0-9]{36})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 2
  },
  {
    id: "privateai-api-token",
    keywords: ["privateai", "private_ai", "private-ai"],
    name: "private[_-]?ai",
    ignoreCase: true,
    value: "[a-z0-9]{32}",
    entropy: 3
  },
  {
    id: "pulumi-api-token",
    keywords: ["pul-"],
    pattern: "\\b(?<secret>pul-[a-f0-9]{40})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 2
  },
  {
    id: "pypi-upload-token",
    keywords: ["pypi-ageichlwas5vcmc"],
    pattern: "pypi-AgEIcHlwaS5vcmc[\\w-]{50,1000}",
    entropy: 3
  },
  {
    id: "rapidapi-access-token",
    keywords: ["rapidapi"],
    name: "rapidapi",
    ignoreCase: true,
    value: "[a-zA-Z0-9_-]{50}"
  },
  {
    id: "readme-api-token",
    keywords: ["rdme_"],
    pattern: "\\b(?<secret>rdme_[a-z0-9]{70})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 2
  },
  {
    id: "rubygems-api-token",
    keywords: ["rubygems_"],
    pattern: "\\b(?<secret>rubygems_[a-f0-9]{48})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 2
  },
  {
    id: "scalingo-api-token",
    keywords: ["tk-us-"],
    pattern: "\\b(?<secret>tk-us-[\\w-]{48})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 2
  },
  {
    id: "sendbird-access-id",
    keywords: ["sendbird"],
    name: "sendbird",
    ignoreCase: true,
    value: "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
  },
  {
    id: "sendbird-access-token",
    keywords: ["sendbird"],
    name: "sendbird",
    ignoreCase: true,
    value: "[a-fA-F0-9]{40}"
  },
  {
    id: "sendgrid-api-token",
    keywords: ["sg."],
    pattern: "\\b(?<secret>SG\\.[a-zA-Z0-9=_\\-\\.]{66})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 2
  },
  {
    id: "sendinblue-api-token",
    keywords: ["xkeysib-"],
    pattern: "\\b(?<secret>xkeysib-[a-f0-9]{64}\\-[a-zA-Z0-9]{16})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 2
  },
  {
    id: "sentry-access-token",
    keywords: ["sentry"],
    name: "sentry",
    ignoreCase: true,
    value: "[a-fA-F0-9]{64}",
    entropy: 3
  },
  {
    id: "sentry-org-token",
    keywords: ["sntrys_eyjpyxqio"],
    pattern:
      "\\bsntrys_eyJpYXQiO[a-zA-Z0-9+/]{10,200}(?:LCJyZWdpb25fdXJs|InJlZ2lvbl91cmwi|cmVnaW9uX3VybCI6)[a-zA-Z0-9+/]{10,200}={0,2}_[a-zA-Z0-9+/]{43}(?:[^a-zA-Z0-9+/]|$)",
    entropy: 4.5
  },
  {
    id: "sentry-user-token",
    keywords: ["sntryu_"],
    pattern: "\\b(?<secret>sntryu_[a-f0-9]{64})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 3.5
  },
  {
    id: "settlemint-application-access-token",
    keywords: ["sm_aat"],
    pattern: "\\b(?<secret>sm_aat_[a-zA-Z0-9]{16})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 3
  },
  {
    id: "settlemint-personal-access-token",
    keywords: ["sm_pat"],
    pattern: "\\b(?<secret>sm_pat_[a-zA-Z0-9]{16})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 3
  },
  {
    id: "settlemint-service-access-token",
    keywords: ["sm_sat"],
    pattern: "\\b(?<secret>sm_sat_[a-zA-Z0-9]{16})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 3
  },
  {
    id: "shippo-api-token",
    keywords: ["shippo_"],
    pattern: "\\b(?<secret>shippo_(?:live|test)_[a-fA-F0-9]{40})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 2
  },
  {
    id: "shopify-access-token",
    keywords: ["shpat_"],
    pattern: "shpat_[a-fA-F0-9]{32}",
    entropy: 2
  },
  {
    id: "shopify-custom-access-token",
    keywords: ["shpca_"],
    pattern: "shpca_[a-fA-F0-9]{32}",
    entropy: 2
  },
  {
    id: "shopify-private-app-access-token",
    keywords: ["shppa_"],
    pattern: "shppa_[a-fA-F0-9]{32}",
    entropy: 2
  },
  {
    id: "shopify-shared-secret",
    keywords: ["shpss_"],
    pattern: "shpss_[a-fA-F0-9]{32}",
    entropy: 2
  },
  {
    id: "sidekiq-secret",
    keywords: ["bundle_enterprise__contribsys__com", "bundle_gems__contribsys__com"],
    name: "BUNDLE_ENTERPRISE__CONTRIBSYS__COM|BUNDLE_GEMS__CONTRIBSYS__COM",
    ignoreCase: true,
    value: "[a-fA-F0-9]{8}:[a-fA-F0-9]{8}"
  },
  {
    id: "sidekiq-sensitive-url",
    keywords: ["gems.contribsys.com", "enterprise.contribsys.com"],
    pattern:
      "\\bhttps?:\\/\\/(?<secret>[a-f0-9]{8}:[a-f0-9]{8})@(?:gems.contribsys.com|enterprise.contribsys.com)(?:[\\/|\\#|\\?|:]|$)",
    ignoreCase: true,
    near: true
  },
  {
    id: "slack-app-token",
    keywords: ["xapp"],
    pattern: "xapp-\\d-[A-Z0-9]+-\\d+-[a-z0-9]+",
    ignoreCase: true,
    entropy: 2
  },
  {
    id: "slack-bot-token",
    keywords: ["xoxb"],
    pattern: "xoxb-[0-9]{10,13}-[0-9]{10,13}[a-zA-Z0-9-]*",
    entropy: 3
  },
  {
    id: "slack-config-access-token",
    keywords: ["xoxe.xoxb-", "xoxe.xoxp-"],
    pattern: "xoxe.xox[bp]-\\d-[A-Z0-9]{163,166}",
    ignoreCase: true,
    entropy: 2
  },
  {
    id: "slack-config-refresh-token",
    keywords: ["xoxe-"],
    pattern: "xoxe-\\d-[A-Z0-9]{146}",
    ignoreCase: true,
    entropy: 2
  },
  {
    id: "slack-legacy-bot-token",
    keywords: ["xoxb"],
    pattern: "xoxb-[0-9]{8,14}-[a-zA-Z0-9]{18,26}",
    entropy: 2
  },
  {
    id: "slack-legacy-token",
    keywords: ["xoxo", "xoxs"],
    pattern: "xox[os]-\\d+-\\d+-\\d+-[a-fA-F\\d]+",
    entropy: 2
  },
  {
    id: "slack-legacy-workspace-token",
    keywords: ["xoxa", "xoxr"],
    pattern: "xox[ar]-(?:\\d-)?[0-9a-zA-Z]{8,48}",
    entropy: 2
  },
  {
    id: "slack-user-token",
    keywords: ["xoxp-", "xoxe-"],
    pattern: "xox[pe](?:-[0-9]{10,13}){3}-[a-zA-Z0-9-]{28,34}",
    entropy: 2
  },
  {
    id: "snyk-api-token",
    keywords: ["snyk"],
    name: "snyk[_.-]?(?:(?:api|oauth)[_.-]?)?(?:key|token)",
    ignoreCase: true,
    value: "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
  },
  {
    id: "sonar-api-token",
    keywords: ["sonar"],
    name: "sonar[_.-]?(?:login|token)",
    ignoreCase: true,
    value: "(?:[sS][qQ][uU]_|[sS][qQ][pP]_|[sS][qQ][aA]_)?[a-zA-Z0-9=_\\-]{40}"
  },
  {
    id: "sourcegraph-access-token",
    keywords: ["sgp_", "sourcegraph"],
    pattern:
      "\\b(?<secret>\\b(?:sgp_(?:[a-fA-F0-9]{16}|local)_[a-fA-F0-9]{40}|sgp_[a-fA-F0-9]{40}|[a-fA-F0-9]{40})\\b)(?:[`'\"\\s;]|\\\\[nr]|$)",
    ignoreCase: true,
    near: true,
    entropy: 3
  },
  {
    id: "square-access-token",
    keywords: ["sq0atp-", "eaaa"],
    pattern: "\\b(?<secret>(?:EAAA|sq0atp-)[\\w-]{22,60})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 2
  },
  {
    id: "squarespace-access-token",
    keywords: ["squarespace"],
    name: "squarespace",
    ignoreCase: true,
    value: "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
  },
  {
    id: "stripe-access-token",
    keywords: ["sk_test", "sk_live", "sk_prod", "rk_test", "rk_live", "rk_prod"],
    pattern: "\\b(?<secret>(?:sk|rk)_(?:test|live|prod)_[a-zA-Z0-9]{10,99})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 2
  },
  {
    id: "sumologic-access-id",
    keywords: ["sumo"],
    name: "(?:[Ss]umo|SUMO)",
    value: "su[a-zA-Z0-9]{12}",
    entropy: 3
  },
  {
    id: "sumologic-access-token",
    keywords: ["sumo"],
    name: "(?:[Ss]umo|SUMO)",
    value: "[a-zA-Z0-9]{64}",
    entropy: 3
  },
  {
    id: "telegram-bot-api-token",
    keywords: ["telegr"],
    name: "telegr",
    ignoreCase: true,
    value: "[0-9]{5,16}:(?:A)[a-zA-Z0-9_\\-]{34}"
  },
  {
    id: "travisci-access-token",
    keywords: ["travis"],
    name: "travis",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{22}"
  },
  {
    id: "twilio-api-key",
    keywords: [
      "sk0",
      "sk1",
      "sk2",
      "sk3",
      "sk4",
      "sk5",
      "sk6",
      "sk7",
      "sk8",
      "sk9",
      "ska",
      "skb",
      "skc",
      "skd",
      "ske",
      "skf"
    ],
    pattern: "SK[0-9a-fA-F]{32}",
    entropy: 3
  },
  {
    id: "twitch-api-token",
    keywords: ["twitch"],
    name: "twitch",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{30}"
  },
  {
    id: "twitter-access-secret",
    keywords: ["twitter"],
    name: "twitter",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{45}"
  },
  {
    id: "twitter-access-token",
    keywords: ["twitter"],
    name: "twitter",
    ignoreCase: true,
    value: "[0-9]{15,25}-[a-zA-Z0-9]{20,40}"
  },
  {
    id: "twitter-api-key",
    keywords: ["twitter"],
    name: "twitter",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{25}"
  },
  {
    id: "twitter-api-secret",
    keywords: ["twitter"],
    name: "twitter",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{50}"
  },
  {
    id: "twitter-bearer-token",
    keywords: ["twitter"],
    name: "twitter",
    ignoreCase: true,
    value: "[aA]{22}[a-zA-Z0-9%]{80,100}"
  },
  {
    id: "typeform-api-token",
    keywords: ["typeform"],
    name: "typeform",
    ignoreCase: true,
    value: "[tT][fF][pP]_[a-zA-Z0-9\\-_\\.=]{59}"
  },
  {
    id: "vault-batch-token",
    keywords: ["hvb."],
    pattern: "\\b(?<secret>hvb\\.[\\w-]{138,300})(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 4
  },
  {
    id: "vault-service-token",
    keywords: ["hvs."],
    pattern: "\\b(?<secret>(?:hvs\\.[\\w-]{90,120}))(?:[`'\"\\s;]|\\\\[nr]|$)",
    entropy: 3.5,
    allowed: ["s\\.[A-Za-z]{24}"]
  },
  {
    id: "yandex-access-token",
    keywords: ["yandex"],
    name: "yandex",
    ignoreCase: true,
    value: "[tT]1\\.[A-Za-z0-9_-]+[=]{0,2}\\.[A-Za-z0-9_-]{86}[=]{0,2}"
  },
  {
    id: "yandex-api-key",
    keywords: ["yandex"],
    name: "yandex",
    ignoreCase: true,
    value: "[aA][qQ][vV][nN][A-Za-z0-9_\\-]{35,38}"
  },
  {
    id: "yandex-aws-access-token",
    keywords: ["yandex"],
    name: "yandex",
    ignoreCase: true,
    value: "[yY][cC][a-zA-Z0-9_\\-]{38}"
  },
  {
    id: "zendesk-secret-key",
    keywords: ["zendesk"],
    name: "zendesk",
    ignoreCase: true,
    value: "[a-zA-Z0-9]{40}"
  }
]
