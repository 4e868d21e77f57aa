// The controller of Sealed Secrets, for a process that is no pod: its own command takes a service account's files.
//
// It makes a key if there is none, and answers at /v1/cert.pem with what people seal for, as the real one does.
package main

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"flag"
	"log"
	"net/http"
	"time"

	clients "github.com/bitnami-labs/sealed-secrets/pkg/client/clientset/versioned"
	"github.com/bitnami-labs/sealed-secrets/pkg/client/informers/externalversions"
	"github.com/bitnami-labs/sealed-secrets/pkg/controller"
	"github.com/bitnami-labs/sealed-secrets/pkg/crypto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	keys     = controller.SealedSecretsKeyLabel + "=active"
	prefix   = "sealed-secrets-key"
	keyBits  = 2048
	validFor = 10 * 365 * 24 * time.Hour
	retries  = 5
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the cluster")
	namespace := flag.String("namespace", "sealed-secrets", "where the keys are")
	listen := flag.String("listen", "127.0.0.1:0", "where it answers")
	flag.Parse()
	if err := run(*kubeconfig, *namespace, *listen); err != nil {
		log.Fatal(err)
	}
}

func run(kubeconfig, namespace, listen string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 100, 200
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	sealed, err := clients.NewForConfig(config)
	if err != nil {
		return err
	}
	certificate, err := key(core, namespace)
	if err != nil {
		return err
	}
	withLabel := informers.WithTweakListOptions(func(list *metav1.ListOptions) { list.LabelSelector = keys })
	registry := controller.NewKeyRegistry(core, namespace, prefix, controller.SealedSecretsKeyLabel, keyBits)
	built, err := controller.NewController(
		core, sealed,
		externalversions.NewSharedInformerFactory(sealed, 0),
		informers.NewSharedInformerFactory(core, 0),
		informers.NewSharedInformerFactoryWithOptions(core, 0, informers.WithNamespace(namespace), withLabel),
		registry, retries, "CertNotBefore",
	)
	if err != nil {
		return err
	}
	go built.Run(make(chan struct{}))
	http.HandleFunc("/v1/cert.pem", func(answer http.ResponseWriter, _ *http.Request) { _, _ = answer.Write(certificate) })
	http.HandleFunc("/healthz", func(answer http.ResponseWriter, _ *http.Request) {
		if !built.HasSynced() {
			answer.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	return http.ListenAndServe(listen, nil)
}

// key is the certificate of the newest key; the first one is made here.
func key(core kubernetes.Interface, namespace string) ([]byte, error) {
	ctx, secrets := context.Background(), core.CoreV1().Secrets(namespace)
	found, err := secrets.List(ctx, metav1.ListOptions{LabelSelector: keys})
	if err != nil {
		return nil, err
	}
	if count := len(found.Items); count > 0 {
		return found.Items[count-1].Data[corev1.TLSCertKey], nil
	}
	private, certificate, err := crypto.GeneratePrivateKeyAndCert(keyBits, validFor, "")
	if err != nil {
		return nil, err
	}
	made, err := secrets.Create(ctx, secret(private, certificate), metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return made.Data[corev1.TLSCertKey], nil
}

func secret(private *rsa.PrivateKey, certificate *x509.Certificate) *corev1.Secret {
	encode := func(kind string, bytes []byte) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes})
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: prefix,
			Labels:       map[string]string{controller.SealedSecretsKeyLabel: "active"},
		},
		Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{
			corev1.TLSPrivateKeyKey: encode("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(private)),
			corev1.TLSCertKey:       encode("CERTIFICATE", certificate.Raw),
		},
	}
}
